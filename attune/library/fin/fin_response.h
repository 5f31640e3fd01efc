// What `fin` answers, read and checked. docs/formats/fin.md.
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
  std::string options;  // Of the compiler, as the solver gives them.
  std::string blob;     // bzip2 of the code object.
  std::string hash;     // MD5 of the code object.
  int64_t code_bytes = 0;

  friend bool operator==(const KernelObject&, const KernelObject&) = default;
};

// The row of a kernel db for it: the name ends with ".o", the options with the processor that it is
// for, as MIOpen looks for them. `arch` without features: "gfx90a".
miopen::KernelRow RowOf(const KernelObject& kernel, std::string_view arch);

// What came of one solver.
struct Outcome {
  std::string solver;     // "ConvAsm1x1U"
  std::string algorithm;  // "miopenConvolutionFwdAlgoDirect"; empty if it is not told.
  bool is_tunable = false;
  // Why it has not succeeded, in the words of `fin` or about them; empty if it has.
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

// MIOpen's databases of one user: what searches found. Content of files by their path in the
// folder.
using UserDatabases = std::map<std::string, std::string>;

struct Answer {
  std::string find_key;  // Of a find-db; empty where no outcomes are.
  std::vector<Outcome> outcomes;
  std::vector<ListedSolver> solvers;    // Of kSolvers.
  std::vector<std::string> applicable;  // Of kApplicability.
  UserDatabases databases;              // After kPerfEval, whatever it left; not of the text.

  friend bool operator==(const Answer&, const Answer&) = default;
};

inline constexpr size_t kMaxResponseBytes = size_t{1} << 30;
inline constexpr size_t kMaxSolvers = 4096;
inline constexpr size_t kMaxKernelsPerSolver = 65536;
// Of all kernels of a solver together, unpacked: some bytes of bzip2 may be a gigabyte of zeros.
inline constexpr int64_t kMaxCodeBytesPerSolver = miopen::kMaxCodeBytes;

// The answer to one command of `step`. An outcome that says that it succeeded, and has no time, a
// time of 0, or a kernel that is damaged or missing, is one that failed, and says so: it costs no
// other solver its outcome. `asked` (may be empty): each of them has an outcome in the end. The
// environment of the process, which stands first in every answer and has its secrets, is not kept.
// kDataLoss for what is no answer to one command of that step.
Result<Answer> ParseResponse(std::string_view text, Step step,
                             const std::vector<std::string>& asked = {});

}  // namespace attune::fin
