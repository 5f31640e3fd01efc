// A user's kernel whose space a program has narrowed by functions of its own.
#pragma once

#include <functional>
#include <memory>

#include "attune/kernel/kernel_file.h"
#include "attune/problem/problem.h"
#include "attune/problem/target.h"
#include "attune/solver/solver.h"
#include "attune/space/config.h"
#include "attune/trial/candidate.h"

namespace attune {

// `solver` with the space of `file`, which it launches, predicates and all: its default is the
// first config that these allow. Everything else is `solver`'s, which is borrowed.
std::unique_ptr<const Solver> MakeConstrainedSolver(const Solver& solver, kernel::KernelFile file);

// Ok, or which constraint of `file`, textual or not, `config` breaks for `problem` on `target`.
Status CheckAllowed(const kernel::KernelFile& file, const Problem& problem, const Config& config,
                    const Target& target);

// SelectOptions::allows for the predicates of `file` on `target`; null if it has none. Borrows
// `file`.
std::function<bool(const Problem&, const Candidate&)> AllowedBy(const kernel::KernelFile& file,
                                                                const Target& target);

}  // namespace attune
