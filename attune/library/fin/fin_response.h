// Answers of `fin`, parsed and checked. docs/formats/fin.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/formats/miopen/kernel_db.h"
#include "attune/library/fin/fin_step.h"

namespace attune::fin {

// A compiled program as `fin` names it. Its blob unpacks to code of its hash.
struct KernelObject {
  std::string file;     // "conv1x1u.s"
  std::string options;  // Compiler options, as the solver passes them.
  std::string blob;     // bzip2 of the code object.
  std::string hash;     // MD5 of the code object.
  int64_t code_bytes = 0;

  friend bool operator==(const KernelObject&, const KernelObject&) = default;
};

// The row of a kernel db for it: the name ends with ".o", the options with the processor that it is
// for, as MIOpen looks for them. `arch` without features: "gfx90a".
miopen::KernelRow RowOf(const KernelObject& kernel, std::string_view arch);

// Result of one solver.
struct Outcome {
  std::string solver;     // "ConvAsm1x1U"
  std::string algorithm;  // "miopenConvolutionFwdAlgoDirect"; empty if not reported.
  bool is_tunable = false;
  // Reason of a failure, in the words of `fin` or about them; empty on success.
  std::string failure;
  std::string params;           // Those that it was compiled or timed with; may be empty.
  double time_ms = 0;           // Positive and finite if an evaluation succeeded, else 0.
  int64_t workspace_bytes = 0;  // The same; not negative.
  // Empty for a solver that calls a library, and after a failure.
  std::vector<KernelObject> kernels;

  bool succeeded() const { return failure.empty(); }
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

// A solver as `fin` lists it.
struct ListedSolver {
  int64_t id = 0;
  std::string name;
  std::string type;  // "convolution"
  bool is_tunable = false;
  bool is_dynamic = false;

  friend bool operator==(const ListedSolver&, const ListedSolver&) = default;
};

// MIOpen's databases of one user, with the results of searches. Content of files by their path in
// the folder.
using UserDatabases = std::map<std::string, std::string>;

struct Answer {
  std::string find_key;  // Key in a find-db; empty without outcomes.
  std::vector<Outcome> outcomes;
  std::vector<ListedSolver> solvers;    // Only for kSolvers.
  std::vector<std::string> applicable;  // Only for kApplicability.
  UserDatabases databases;              // All files left after kPerfEval; not of the text.

  friend bool operator==(const Answer&, const Answer&) = default;
};

inline constexpr size_t kMaxResponseBytes = size_t{1} << 30;
inline constexpr size_t kMaxSolvers = 4096;
inline constexpr size_t kMaxKernelsPerSolver = 65536;
// For all kernels of a solver together, unpacked: some bytes of bzip2 may be a gigabyte of zeros.
inline constexpr int64_t kMaxCodeBytesPerSolver = miopen::kMaxCodeBytes;

// The answer to one command of `step`. An outcome that claims success, but has no time, a time of
// 0, or a damaged or missing kernel, counts as failed with that reason; other solvers keep their
// outcomes. `asked` (may be empty): the result has an outcome for each of them. The environment of
// the process, which begins every answer and contains secrets, is not kept. kDataLoss for a text
// that is no answer to one command of that step.
Result<Answer> ParseResponse(std::string_view text, Step step,
                             const std::vector<std::string>& asked = {});

}  // namespace attune::fin
