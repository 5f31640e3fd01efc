// What `fin` is asked. docs/formats/fin.md.
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
  std::string arch;       // As compilers call it: "gfx90a".
  int compute_units = 0;  // Of the GPU.
  Conv conv;              // Not of kSolvers.
  // Those that are compiled; of an evaluation those that have something in `compiled`. Empty: all
  // that apply.
  std::vector<std::string> solvers = {};
  // Of an evaluation: what the compile step of each solver made.
  std::map<std::string, std::vector<KernelObject>> compiled = {};
  // What MIOpen finds when it begins; no part of the text.
  UserDatabases databases = {};
};

// The text of one command. kUnsupported for what fin does not do as it is asked: a bias, padding of
// the output, layouts or types that its commands have no words for, architectures that it throws
// at; kInvalidArgument for an evaluation of nothing.
Result<std::string> RequestFor(const Question& question);

// What a candidate is run with: its kernels, and where a search found its parameters.
struct KeptBuild {
  std::vector<KernelObject> kernels;
  UserDatabases databases = {};

  friend bool operator==(const KeptBuild&, const KeptBuild&) = default;
};
// As a text and back, as a kernel cache keeps it. kDataLoss for what is none.
std::string TextOf(const KeptBuild& build);
Result<KeptBuild> KeptBuildOf(std::string_view text);

}  // namespace attune::fin
