#include "attune/verify/tolerance.h"

#include "attune/problem/own_kernel.h"

namespace attune {

Tolerance ToleranceOf(const Problem& problem) {
  if (const auto own = OwnKernelOf(problem); own.ok()) {
    return {own->absolute_tolerance, own->relative_tolerance};
  }
  return problem.op().reference()->ToleranceOf(problem);
}

}  // namespace attune
