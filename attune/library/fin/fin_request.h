// Requests to `fin`. docs/formats/fin.md.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/library/fin/fin_response.h"
#include "attune/library/fin/fin_step.h"
#include "attune/ops/conv/conv.h"

namespace attune::fin {

struct Question {
  Step step = Step::kApplicability;
  std::string arch;  // As compilers call it: "gfx90a".
  int compute_units = 0;
  Conv conv;  // Not of kSolvers.
  // Those that are compiled; of an evaluation those that have something in `compiled`. Empty: all
  // that apply.
  std::vector<std::string> solvers = {};
  // For an evaluation: the kernels that each solver's compile step made.
  std::map<std::string, std::vector<KernelObject>> compiled = {};
  // MIOpen's databases at the start; not part of the text.
  UserDatabases databases = {};
};

// The text of one command. kUnsupported if fin cannot do it as asked: a bias, padding of the
// output, layouts or types that its commands have no words for, architectures that it throws at;
// kInvalidArgument for an evaluation without kernels.
Result<std::string> RequestFor(const Question& question);

// Inputs of a candidate's run: its kernels, and the databases of a search that found its
// parameters.
struct KeptBuild {
  std::vector<KernelObject> kernels;
  UserDatabases databases = {};

  friend bool operator==(const KeptBuild&, const KeptBuild&) = default;
};
// As a text and back, for a kernel cache. kDataLoss if a text is invalid.
std::string TextOf(const KeptBuild& build);
Result<KeptBuild> KeptBuildOf(std::string_view text);

}  // namespace attune::fin
