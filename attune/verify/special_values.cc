#include "attune/verify/special_values.h"

#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "attune/base/element.h"
#include "attune/problem/reference.h"

namespace attune {
namespace {

constexpr size_t kMaxElementBytes = 8;

Status Plant(const std::vector<PlantedElement>& planted, BoundOperands& operands) {
  for (const PlantedElement& element : planted) {
    std::array<std::byte, kMaxElementBytes> bytes;
    Encode(element.type, element.value, bytes.data());
    const auto value = std::span(bytes).first(SizeBytes(element.type));
    ATTUNE_RETURN_IF_ERROR(operands.Write(element.operand, element.offset, value));
  }
  return Status::Ok();
}

// Restores operands that are only read. Each run starts with poisoned outputs anyway.
Status Restore(const std::vector<PlantedElement>& planted, const std::vector<Operand>& roles,
               const ProblemData& data, BoundOperands& operands) {
  for (const PlantedElement& element : planted) {
    if (roles[element.operand].role != OperandRole::kIn) continue;
    const size_t size_bytes = SizeBytes(element.type);
    const auto original =
        data.input(element.operand)
            .subspan(static_cast<size_t>(element.offset) * size_bytes, size_bytes);
    ATTUNE_RETURN_IF_ERROR(operands.Write(element.operand, element.offset, original));
  }
  return operands.PoisonOutputs();
}

std::optional<Failure> UnlessOk(const Status& status, Phase phase) {
  if (status.ok()) return std::nullopt;
  return Failure{FailureKind::kRunFailed, phase, status.message()};
}

std::optional<Failure> RunAndCheck(const SpecialValues& test, Executable& executable,
                                   Device& device, BoundOperands& operands) {
  Status planted = operands.PoisonOutputs();
  if (planted.ok()) planted = Plant(test.planted(), operands);
  if (auto failure = UnlessOk(planted, Phase::kVerify)) return failure;
  Status ran = executable.Run(operands.arguments());
  if (ran.ok()) ran = device.Synchronize();
  if (auto failure = UnlessOk(ran, Phase::kRun)) return failure;
  const auto wrong = test.FindWrong([&](size_t operand, int64_t offset, int64_t count) {
    return operands.Read(operand, offset, count);
  });
  if (!wrong.ok()) return UnlessOk(wrong.error(), Phase::kVerify);
  if (!wrong->has_value()) return std::nullopt;
  return Failure{FailureKind::kWrongResult, Phase::kVerify,
                 fmt::format("NaN, infinity or a denormal number is lost: {}. The solver declares "
                             "ieee_special_values.",
                             **wrong)};
}

}  // namespace

std::optional<Failure> CheckSpecialValues(Executable& executable, Device& device,
                                          BoundOperands& operands, const ProblemData& data,
                                          const Problem& problem) {
  const Reference* const reference = problem.op().reference();
  if (reference == nullptr) return std::nullopt;
  const std::vector<Operand> roles = Operands(problem);
  ReferenceData of_reference{{}, data.reference()};
  for (size_t i = 0; i < roles.size(); ++i) of_reference.inputs.push_back(data.input(i));
  std::optional<Failure> failure;
  for (const auto& test : reference->SpecialValuesOf(problem, of_reference)) {
    failure = RunAndCheck(*test, executable, device, operands);
    const Status restored = Restore(test->planted(), roles, data, operands);
    if (!failure.has_value()) failure = UnlessOk(restored, Phase::kVerify);
    if (failure.has_value()) break;
  }
  return failure;
}

}  // namespace attune
