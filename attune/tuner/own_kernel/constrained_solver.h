// A user's kernel whose space is narrowed by functions of the user's program.
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

// `solver` with the space of `file`, which it launches, including its predicates: the default is
// the first config that these allow. Everything else is that of `solver`, which is borrowed.
std::unique_ptr<const Solver> MakeConstrainedSolver(const Solver& solver, kernel::KernelFile file);

// Ok, or which constraint of `file`, textual or not, `config` breaks for `problem` on `target`.
Status CheckAllowed(const kernel::KernelFile& file, const Problem& problem, const Config& config,
                    const Target& target);

// SelectOptions::allows for the predicates of `file` on `target`; null if it has none. Borrows
// `file`.
std::function<bool(const Problem&, const Candidate&)> AllowedBy(const kernel::KernelFile& file,
                                                                const Target& target);

}  // namespace attune
