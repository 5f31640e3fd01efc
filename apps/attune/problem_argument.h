// Problems as they are given on a command line.
#pragma once

#include <string>
#include <vector>

#include "apps/attune/application.h"
#include "attune/base/status.h"
#include "attune/problem/problem.h"

namespace attune {

// A canonical text (`gemm@1{m=512,n=512,k=512}`) is one problem; a MIOpenDriver command line is one
// for each direction that it names. The error lists the accepted forms and the place of the
// mistake.
Result<std::vector<Problem>> ParseProblemArgument(const std::string& text);

// The same where only one problem makes sense; a command line must name its direction (-F 1, 2 or
// 4).
Result<Problem> ParseOneProblem(const std::string& text);

// --tag, --model with --framework, --session and --problem as several verbs take them.
struct ProblemSelection {
  std::string tag;
  std::string model;                  // MODEL or MODEL:VERSION.
  std::string framework;              // FRAMEWORK or FRAMEWORK:VERSION; empty: any.
  std::string session;                // Its problems, where neither a tag nor a model is named.
  std::vector<std::string> problems;  // Arguments as in ParseProblemArgument.
};

// The networks that the selection means; none where it names no model.
Result<std::vector<NetworkProblems>> SelectedNetworks(Application& application,
                                                      const ProblemSelection& selection);

// The problems of the tag, of the model, or else of the session, then those named, each once;
// those of several networks with the sum of their weights.
// REQUIRES: something is selected.
Result<std::vector<TaggedProblem>> Resolve(Application& application,
                                           const ProblemSelection& selection);

}  // namespace attune
