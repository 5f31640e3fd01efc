#include "attune/problem/problem.h"

#include <fmt/format.h>

#include "attune/ops/registry.h"
#include "attune/problem/other_op.h"
#include "attune/problem/text_fields.h"

namespace attune {
namespace {

// The version of texts of unknown operators.
constexpr int kOtherVersion = 1;

Parsed<Problem> ReadKnown(const TextFields& text) {
  const Operator* const known = FindOperator(text.name);
  if (known != nullptr && text.version == known->version()) return known->Read(text);
  if (text.version == kOtherVersion) {
    return OperatorOf(static_cast<const OtherOp*>(nullptr)).Read(text);
  }
  return ErrorAtOffset(
      text.name.size() + 1,
      fmt::format("{} has version {}; this program knows version {}.", Quoted(text.name),
                  text.version, known != nullptr ? known->version() : kOtherVersion));
}

}  // namespace

Problem::Problem() : Problem(OtherOp()) {}

std::string Text(const Problem& problem) { return problem.op().TextOf(problem); }

Parsed<Problem> ReadProblem(std::string_view text) {
  const auto fields = SplitFields(text);
  if (!fields) return tl::unexpected(fields.error());
  auto problem = ReadKnown(*fields);
  if (!problem) return problem;
  if (const Status status = Validate(*problem); !status.ok()) {
    return ErrorAtOffset(0, status.message());
  }
  return problem;
}

Result<Problem> ParseProblem(std::string_view text) {
  auto problem = ReadProblem(text);
  if (!problem) {
    return ToStatus(problem.error()).WithContext(fmt::format("Problem {}", Quoted(text)));
  }
  return std::move(*problem);
}

Fingerprint KeyOf(const Problem& problem) { return FingerprintOf(Text(problem)); }

Status Validate(const Problem& problem) { return problem.op().Validate(problem); }

std::string_view OperatorName(const Problem& problem) { return problem.op().NameOf(problem); }

std::vector<Operand> Operands(const Problem& problem) { return problem.op().Operands(problem); }

double Flops(const Problem& problem) { return problem.op().Flops(problem); }

double CompulsoryBytes(const Problem& problem) { return problem.op().CompulsoryBytes(problem); }

int64_t ReductionLength(const Problem& problem) { return problem.op().ReductionLength(problem); }

DataType OutputType(const Problem& problem) {
  const std::vector<Operand> operands = Operands(problem);
  return operands.empty() ? DataType::kF32 : operands.back().tensor.type;
}

int64_t FieldOr(const Problem& problem, std::string_view name, int64_t otherwise) {
  const ProblemField* const field = FindField(problem.op().fields(), name);
  return field == nullptr ? otherwise : field->get(problem.value());
}

}  // namespace attune
