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

void AddGoldenExportVerb(CLI::App& golden, Invocation& invocation);

}  // namespace attune
