// Eigen's product for x86-64-v3.
#define ATTUNE_EIGEN EigenV3
#define ATTUNE_EIGEN_NAMESPACE eigen_for_x86_64_v3
#define ATTUNE_COMPILED_FOR "x86-64-v3"

#include "backends/host/kernels/eigen_unit-inl.h"
