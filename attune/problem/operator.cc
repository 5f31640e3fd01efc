#include "attune/problem/operator.h"

#include <algorithm>

#include <fmt/format.h>

#include "attune/problem/problem.h"

namespace attune {

int AlignmentOfCall(int in_struct, DataType widest, CallClasses classes) {
  if (in_struct != 0) return in_struct;
  return classes.wide == 1 ? kWideAlignmentBytes : static_cast<int>(SizeBytes(widest));
}

std::string_view Operator::NameOf(const Problem&) const { return name(); }

Problem Operator::Canonical(const Problem& problem) const { return problem; }

double OnceBytes(const TensorDesc& tensor) {
  const int64_t elements = std::min(ElementCount(tensor), SpanElements(tensor));
  return static_cast<double>(elements) * static_cast<double>(SizeBytes(tensor.type));
}

double Operator::CompulsoryBytes(const Problem& problem) const {
  double bytes = 0;
  for (const Operand& operand : Operands(problem)) {
    const double once = OnceBytes(operand.tensor);
    bytes += operand.role == OperandRole::kInOut ? 2 * once : once;
  }
  return bytes;
}

std::vector<std::string> Operator::SizeNames() const {
  std::vector<std::string> names;
  for (const ProblemField& field : fields()) {
    if (field.kind == FieldKind::kSize && !field.name.empty()) names.emplace_back(field.name);
  }
  return names;
}

std::vector<Problem> Operator::EverydayProblems() const { return {}; }

Parsed<std::vector<Problem>> Operator::ReadDriver(const DriverLine&, std::string_view) const {
  return ErrorAtOffset(0, fmt::format("MIOpenDriver has no operator {}.", name()));
}

}  // namespace attune
