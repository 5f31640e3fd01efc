// Opens golden versions, whole or the part for one target.
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

// A version that was not rolled back, with its entries for one target, once for each problem.
struct GoldenForTarget {
  GoldenVersion version;
  Target target;
  std::vector<GoldenEntry> entries;
};

// Which part of a version.
struct GoldenPart {
  std::string target;  // Its whole text, its device or its architecture; empty: the only one.
  std::string cache;   // The state of caches; empty: the only one of each problem.
};

// --cache for a verb that takes a part.
CLI::Option* AddGoldenCacheOption(CLI::App& verb, std::string& cache);

// kInvalidArgument lists the possible parts if `part` matches none or several; kFailedPrecondition
// for a version that was rolled back or is empty.
Result<GoldenForTarget> OpenGoldenFor(Application& application, const std::string& name,
                                      const GoldenPart& part);

}  // namespace attune
