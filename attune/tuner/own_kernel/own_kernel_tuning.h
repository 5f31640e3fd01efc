// Tuning a user's kernel from C++, as `attune tune --kernel FILE --size SIZES` does.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "attune/base/status.h"
#include "attune/kernel/kernel_file.h"
#include "attune/kernel/own_kernel.h"
#include "attune/solver/backend.h"
#include "attune/solver/solver.h"
#include "attune/tuner/child_evaluator.h"
#include "attune/tuner/tuner.h"

namespace attune {

// Device and records of a tuning: all of it is borrowed.
struct OwnKernelPlace {
  const Backend& backend;
  std::string device_spec;  // "opencl:0".
  Target target;
  Environment environment;
  RecordStore& store;                       // Measurements are kept there and not repeated.
  std::filesystem::path evaluator = {};     // Empty: FindEvaluatorProgram.
  std::vector<std::string> variables = {};  // As those of ChildOptions.
};

// The solver of `solvers` that launches `file` on `target`; kNotFound if they were made without it.
Result<const Solver*> FindOwnKernelSolver(const kernel::KernelFile& file, const SolverList& solvers,
                                          const Target& target);

// Options of worker processes there. They find the kernel by ATTUNE_KERNEL_PATH. kNotFound if there
// is no program for them.
Result<ChildOptions> ChildrenAt(const OwnKernelPlace& place);
// The same for worker processes that need no records.
Result<ChildOptions> ChildrenOn(const Backend& backend, const std::string& device_spec,
                                const std::filesystem::path& evaluator,
                                const std::vector<std::string>& variables);

// Tunes `file` for `sizes` with the time of `options`, in worker processes of the program
// `attune-evaluator`: a crash, a hang or a wrong result costs its candidate. If there is an
// incumbent, reports it and tunes nothing. Predicates of `file` narrow the candidates, and the
// incumbent must satisfy them. Takes no turns with other processes: no other process should measure
// on the device.
Result<TuneReport> TuneOwnKernel(const OwnKernelPlace& place, const kernel::KernelFile& file,
                                 const kernel::OwnSizes& sizes, const TuneOptions& options);

}  // namespace attune
