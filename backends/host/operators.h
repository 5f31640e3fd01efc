// Operators beside gemm and conv: each has a folder here, which CMake finds, and a function
// AddSolvers() in a namespace of its name. Nothing else has to know of it.
#pragma once

#include "attune/solver/solver.h"
#include "backends/host/cpu.h"
#include "backends/host/threads/thread_pool.h"

namespace attune::host {

// What their solvers share; outlives them.
struct OperatorResources {
  ThreadPool* pool = nullptr;
  IsaLevel level = IsaLevel::kBaseline;
};

// The solvers of all of them.
void AddOperatorSolvers(const OperatorResources& resources, SolverList& solvers);

// `library.NAME.build_id` of each: what its kernels are made of.
Environment DescribeOperators(IsaLevel level);

}  // namespace attune::host
