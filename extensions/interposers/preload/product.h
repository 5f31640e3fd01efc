// One product as the run time takes it.
#pragma once

#include "attune/attune.h"

namespace attune::interposer {

struct Product {
  attune_gemm gemm;
  attune_arguments arguments;
};

}  // namespace attune::interposer
