#include "attune/verify/tolerance.h"

#include "attune/problem/own_kernel.h"

namespace attune {

GroupTolerance ToleranceOf(const Problem& problem, size_t operand) {
  if (const auto own = OwnKernelOf(problem); own.ok()) {
    return Tolerance{own->absolute_tolerance, own->relative_tolerance};
  }
  return problem.op().reference()->ToleranceOf(problem, operand);
}

}  // namespace attune
