// One product as the run time takes it.
#pragma once

#include <cmath>

#include "attune/attune.h"

namespace attune::interposer {

struct Product {
  attune_gemm gemm;
  attune_arguments arguments;
};

// False if alpha or beta is NaN or infinite. Libraries multiply by them in different orders, so
// their results differ, and solvers are verified with finite ones only.
inline bool HasFiniteScalars(const attune_arguments& arguments) {
  return std::isfinite(arguments.alpha) && std::isfinite(arguments.beta);
}

}  // namespace attune::interposer
