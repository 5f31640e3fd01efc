// Any bytes as an answer of `fin`: no outcome has succeeded without a result.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "attune/library/fin/fin_response.h"
#include "tests/fuzz/fuzz_check.h"

namespace {

void CheckOutcome(const attune::fin::Outcome& outcome, bool is_evaluation) {
  using attune::FuzzCheck;
  FuzzCheck(!outcome.solver.empty());
  FuzzCheck(outcome.workspace_bytes >= 0);
  if (!outcome.succeeded()) {
    FuzzCheck(outcome.time_ms == 0 && outcome.kernels.empty());
  } else if (is_evaluation) {
    FuzzCheck(std::isfinite(outcome.time_ms) && outcome.time_ms > 0);
  }
  for (const attune::fin::KernelObject& kernel : outcome.kernels) {
    FuzzCheck(attune::miopen::CodeOf(attune::fin::RowOf(kernel, "gfx90a")).ok());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using attune::FuzzCheck;
  using attune::fin::Step;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const Step step :
       {Step::kSolvers, Step::kApplicability, Step::kFindCompile, Step::kPerfEval}) {
    const auto answer = attune::fin::ParseResponse(text, step, {"Asked"});
    FuzzCheck(answer.ok() || !answer.status().message().empty());
    if (!answer.ok()) continue;
    FuzzCheck(!IsPerSolver(step) || !answer->outcomes.empty());
    for (const auto& outcome : answer->outcomes) CheckOutcome(outcome, NeedsDevice(step));
  }
  return 0;
}
