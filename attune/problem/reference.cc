#include "attune/problem/reference.h"

#include <fmt/format.h>

#include "attune/base/element.h"
#include "attune/problem/problem.h"

namespace attune {

Status CheckTypeOfOutput(std::string_view operand, DataType type) {
  if (IsCheckable(type)) return Status::Ok();
  return Unsupported(
      fmt::format("Operand {} is of type {}; results are checked for f64, f32, f16, bf16 and i32.",
                  operand, Name(type)));
}

double MultiplyAddsOfProducts(const Problem& problem) {
  return static_cast<double>(ElementCount(Operands(problem).back().tensor)) *
         static_cast<double>(ReductionLength(problem));
}

}  // namespace attune
