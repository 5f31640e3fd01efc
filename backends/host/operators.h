// Solvers of operators other than gemm and conv. CMake finds the folder of each operator. The
// folder defines AddSolvers() in a namespace of the operator's name.
#pragma once

#include "attune/solver/solver.h"
#include "backends/host/cpu.h"
#include "backends/host/threads/thread_pool.h"

namespace attune::host {

// Shared by all solvers, and outlives them.
struct OperatorResources {
  ThreadPool* pool = nullptr;
  IsaLevel level = IsaLevel::kBaseline;
};

// Adds the solvers of every operator.
void AddOperatorSolvers(const OperatorResources& resources, SolverList& solvers);

// `library.NAME.build_id` of each operator: a hash of the sources of its kernels.
Environment DescribeOperators(IsaLevel level);

}  // namespace attune::host
