// References that the fake device computes, with the faults of a script.
#pragma once

#include <memory>

#include "attune/solver/solver.h"
#include "backends/fake/fake_script.h"

namespace attune {

// The reference of f32 products, for Backend::reference_solver(). The script knows it as
// `fake.f64`, with these faults: those that end or cripple a process, launch_fails, slow_launch,
// load_fails, wrong_result (every sum is off by 1e-6), nan and stale.
std::unique_ptr<const Solver> MakeFakeReference(const FakeScript& script);

}  // namespace attune
