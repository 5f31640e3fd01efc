// The answers that the runtime gives to a program started here.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "apps/attune/json_text.h"
#include "attune/base/status.h"
#include "attune/problem/problem.h"
#include "runtime/explain.h"
#include "runtime/runtime.h"

namespace attune {

// The runtime's answer for a problem.
struct Served {
  std::optional<Explanation> explanation;
  Json json;           // As attune_explain() prints it; null without an explanation.
  std::string reason;  // Why nothing would serve; empty if something does.
};

// The runtime of a program with the environment of this process: its forced choices, packages,
// policy and results of TunableOp's kind. It serves nothing, so it tunes and records nothing.
class ProgramRuntime {
 public:
  // On `device`, with `database` or, if that is empty, the one of the environment. Returns once it
  // has looked for records that are newer than its index, kLongestLook at most. kInvalidArgument if
  // a variable cannot be honoured, which fails every program, too. Any other failure to make one is
  // the answer to every question.
  static Result<ProgramRuntime> Make(const std::string& device, const std::string& database);

  Served Ask(const Problem& problem) const;

 private:
  static constexpr std::chrono::seconds kLongestLook{10};
  ProgramRuntime() = default;

  std::unique_ptr<Runtime> runtime_;  // Null if none can be made.
  Status made_;
};

// "Serves   host.openblas-gemm@1{threads=2}", and why.
std::string ServesText(const Served& served);

}  // namespace attune
