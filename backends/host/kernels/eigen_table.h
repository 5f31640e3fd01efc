// Eigen's product, once for each level of the instruction set. See kernel_table.h for the limits of
// a unit that is compiled for another level. Eigen's own templates are kept apart by giving its
// namespace another name in every unit.
#pragma once

#include "backends/host/kernels/gemm_call.h"

namespace attune::host {

// Plain loops compute the products if there is no memory for packed blocks of Eigen.
struct EigenTable {
  const char* compiled_for;  // "x86-64-v3"
  const char* version;       // "3.4.0"
  void (*gemm_f32)(const GemmCall<float>&);
  void (*gemm_f64)(const GemmCall<double>&);
};

const EigenTable& EigenV2();
const EigenTable& EigenV3();
const EigenTable& EigenV4();

}  // namespace attune::host
