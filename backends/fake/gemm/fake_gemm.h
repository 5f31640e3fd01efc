// Solvers of small f32 products that follow a script.
#pragma once

#include "attune/solver/solver.h"
#include "backends/fake/fake_script.h"

namespace attune {

// Best guess first, all of them computing real results:
//   fake.library    threads in {1, 2}; compiles nothing; the default
//   fake.tiled      tile in {4, 8, 16, 32}, unroll in {1, 2, 4}, threads in {1, 2}; compiles
//   fake.listed     configs that the script's device lists, if any; the only one not dynamic
//   fake.reference  no parameters
SolverList MakeFakeSolvers(const FakeScript& script);

// The default time of a launch without noise: smooth in the parameters, fastest at tile 16, unroll
// 4 and two threads, where fake.tiled is twice as fast as fake.library.
double FakeModelTimeNs(const Problem& problem, const Candidate& candidate);

}  // namespace attune
