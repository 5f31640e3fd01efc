// Eigen's product for x86-64-v2.
#define ATTUNE_EIGEN EigenV2
#define ATTUNE_EIGEN_NAMESPACE eigen_for_x86_64_v2
#define ATTUNE_COMPILED_FOR "x86-64-v2"

#include "backends/host/kernels/eigen_unit-inl.h"
