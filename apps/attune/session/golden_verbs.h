// `attune golden ...`: what its verbs share.
#pragma once

#include <string>
#include <vector>

#include "apps/attune/verbs.h"
#include "attune/base/status.h"
#include "attune/session/golden.h"

namespace attune {

struct OpenedGolden {
  GoldenVersion version;
  std::vector<GoldenEntry> entries;
};

// kNotFound names the versions that there are.
Result<OpenedGolden> OpenGolden(Application& application, const std::string& name);

// A version that was not rolled back, with what it says for one target.
struct GoldenForTarget {
  GoldenVersion version;
  Target target;
  std::vector<GoldenEntry> entries;
};

// For the only target of the version that `target` means: its whole text, its device or its
// architecture; the only one that there is if `target` is empty. kInvalidArgument lists those that
// there are; kFailedPrecondition for a version that was rolled back.
Result<GoldenForTarget> OpenGoldenFor(Application& application, const std::string& name,
                                      const std::string& target);

void AddGoldenExportVerb(CLI::App& golden, Invocation& invocation);

}  // namespace attune
