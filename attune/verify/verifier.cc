#include "attune/verify/verifier.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "attune/base/element.h"
#include "attune/problem/own_kernel.h"
#include "attune/verify/output_comparison.h"
#include "attune/verify/poison.h"
#include "attune/verify/tolerance.h"

namespace attune {
namespace {

Failure FailureOf(const Status& status, Phase phase) {
  const bool memory = status.code() == StatusCode::kResourceExhausted;
  return {memory ? FailureKind::kOutOfMemory : FailureKind::kRunFailed, phase, status.message()};
}

// Logical position of the element at `offset`: "(0, 3, 1, 2)".
std::string PositionText(const TensorDesc& tensor, int64_t offset) {
  std::vector<size_t> order(tensor.extents.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return tensor.strides[a] > tensor.strides[b]; });
  std::vector<int64_t> position(order.size(), 0);
  for (const size_t i : order) {
    if (tensor.extents[i] == 1 || tensor.strides[i] == 0) continue;
    position[i] = offset / tensor.strides[i];
    offset %= tensor.strides[i];
  }
  return fmt::format("({})", fmt::join(position, ", "));
}

// Operand `i`, which is written.
struct CheckedOutput {
  size_t i = 0;
  Operand operand;
};

// The last operand; of a user's kernel all that it writes.
std::vector<CheckedOutput> OutputsOf(const Problem& problem) {
  std::vector<CheckedOutput> outputs;
  std::vector<Operand> operands = Operands(problem);
  for (size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].role != OperandRole::kIn) outputs.push_back({i, std::move(operands[i])});
  }
  return outputs;
}

// Integers that a captured launch wrote must be equal: the tolerance applies to real numbers.
GroupTolerance ToleranceOf(const Problem& problem, const CheckedOutput& output) {
  if (IsOwnKernel(problem) && IsInteger(output.operand.tensor.type)) {
    const auto own = OwnKernelOf(problem);
    if (own.ok() && own->buffers[output.i].fill.kind == BufferFill::Kind::kFile) return {};
  }
  return attune::ToleranceOf(problem, output.i);
}

ComparisonTerms TermsOf(const CheckedOutput& output, const ProblemData& data,
                        const Problem& problem) {
  return {output.operand.tensor.type, std::ssize(data.reference(output.i)),
          ToleranceOf(problem, output), kPoisonWord};
}

std::optional<Failure> FailureOf(const OutputComparison& comparison, const CheckedOutput& output,
                                 const ProblemData& data, const Problem& problem) {
  const Operand& operand = output.operand;
  if (comparison.spoiled_gap.has_value()) {
    return Failure{FailureKind::kOutOfBounds, Phase::kVerify,
                   fmt::format("Wrote into the padding of {}, at element offset {}.", operand.name,
                               *comparison.spoiled_gap)};
  }
  if (comparison.wrong == 0) return std::nullopt;
  const double right = data.reference(output.i)[static_cast<size_t>(comparison.worst_offset)];
  return Failure{
      FailureKind::kWrongResult, Phase::kVerify,
      fmt::format("{} of {} elements of {} are wrong. The worst, {}{}, is {:.9g}; the reference is "
                  "{:.9g} and the tolerance {:.3g}. Seed {}.",
                  comparison.wrong, comparison.elements, operand.name, operand.name,
                  PositionText(operand.tensor, comparison.worst_offset), comparison.worst_value,
                  right, ToleranceOf(problem, output).At(comparison.worst_offset).Of(right),
                  data.seed())};
}

// The first output that is wrong, and the largest error of all.
Result<Verdict> CompareAll(const BoundOperands& operands, const ProblemData& data,
                           const Problem& problem) {
  Verdict verdict;
  for (const CheckedOutput& output : OutputsOf(problem)) {
    ATTUNE_ASSIGN_OR_RETURN(const OutputComparison comparison,
                            operands.CompareOutput(output.i, TermsOf(output, data, problem)));
    verdict.max_error = std::max(verdict.max_error, comparison.worst_ratio);
    if (!verdict.failure.has_value()) {
      verdict.failure = FailureOf(comparison, output, data, problem);
    }
  }
  return verdict;
}

Status RunOnce(Executable& executable, Device& device, const BoundOperands& operands) {
  ATTUNE_RETURN_IF_ERROR(executable.Run(operands.arguments()));
  return device.Synchronize();
}

// The failure that `check` found, or the error that prevented it.
std::optional<Failure> Take(Result<std::optional<Failure>> check) {
  return check.ok() ? *check : FailureOf(check.status(), Phase::kVerify);
}

using Outputs = std::vector<std::vector<std::byte>>;

// The bytes of each operand that is written.
Result<Outputs> DownloadOutputs(const BoundOperands& operands, const Problem& problem) {
  Outputs outputs;
  for (const CheckedOutput& output : OutputsOf(problem)) {
    ATTUNE_ASSIGN_OR_RETURN(std::vector<std::byte> bytes, operands.Download(output.i));
    outputs.push_back(std::move(bytes));
  }
  return outputs;
}

// A second run must give the same bits, because the problem requires determinism.
std::optional<Failure> CheckDeterminism(Executable& executable, Device& device,
                                        BoundOperands& operands, const Problem& problem) {
  const auto first = DownloadOutputs(operands, problem);
  if (!first.ok()) return FailureOf(first.status(), Phase::kVerify);
  if (Status status = operands.PoisonOutputs(); !status.ok()) {
    return FailureOf(status, Phase::kVerify);
  }
  if (Status status = RunOnce(executable, device, operands); !status.ok()) {
    return FailureOf(status, Phase::kRun);
  }
  const auto second = DownloadOutputs(operands, problem);
  if (!second.ok()) return FailureOf(second.status(), Phase::kVerify);
  const std::vector<CheckedOutput> outputs = OutputsOf(problem);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::vector<std::byte>& was = (*first)[i];
    const std::vector<std::byte>& is = (*second)[i];
    if (is == was) continue;
    const auto at = std::mismatch(was.begin(), was.end(), is.begin()).first - was.begin();
    return Failure{
        FailureKind::kWrongResult, Phase::kVerify,
        fmt::format("Two runs differ at byte {} of {}, and the problem asks for a deterministic "
                    "result.",
                    at, outputs[i].operand.name)};
  }
  return std::nullopt;
}

}  // namespace

Verdict CompareOutput(std::span<const std::byte> output, const ProblemData& data,
                      const Problem& problem) {
  const CheckedOutput checked = OutputsOf(problem).back();
  const OutputComparison comparison =
      CompareOnHost(output, data.reference(checked.i), TermsOf(checked, data, problem));
  return {FailureOf(comparison, checked, data, problem), comparison.worst_ratio};
}

Verdict Verify(Executable& executable, Device& device, BoundOperands& operands,
               const ProblemData& data, const Problem& problem) {
  if (Status status = operands.ReserveWorkspace(executable.workspace_bytes()); !status.ok()) {
    return {FailureOf(status, Phase::kVerify), 0};
  }
  if (Status status = operands.KeepOnDevice(); !status.ok()) {
    return {FailureOf(status, Phase::kVerify), 0};
  }
  if (Status status = operands.Reset(); !status.ok()) {
    return {FailureOf(status, Phase::kVerify), 0};
  }
  if (Status status = RunOnce(executable, device, operands); !status.ok()) {
    return {FailureOf(status, Phase::kRun), 0};
  }
  const auto compared = CompareAll(operands, data, problem);
  if (!compared.ok()) return {FailureOf(compared.status(), Phase::kVerify), 0};
  Verdict verdict = *compared;
  // Writing outside the output is the worse error, and may be why the result is wrong.
  if (auto failure = Take(operands.CheckInputs())) verdict.failure = std::move(failure);
  if (auto failure = Take(operands.CheckRedzones())) verdict.failure = std::move(failure);
  if (verdict.failure.has_value()) return verdict;
  const bool deterministic = FieldOr(problem, kDeterministicField, 0) != 0;
  if (deterministic) verdict.failure = CheckDeterminism(executable, device, operands, problem);
  return verdict;
}

}  // namespace attune
