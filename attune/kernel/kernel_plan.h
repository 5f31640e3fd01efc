// A kernel file applied to one problem and one config: numbers instead of expressions.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "attune/base/status.h"
#include "attune/kernel/kernel_file.h"
#include "attune/problem/problem.h"
#include "attune/solver/solver.h"
#include "attune/space/config.h"

namespace attune::kernel {

// A scalar that the caller of Executable::Run decides.
enum class CallScalar { kAlpha, kBeta };

struct PlannedArgument {
  KernelArgument::Kind kind = KernelArgument::Kind::kOperand;  // Never kReal: it is resolved here.
  std::string name;  // Name of the operand; for kBytes, the bytes in hexadecimal.
  std::variant<int64_t, double, CallScalar> value = int64_t{0};

  friend bool operator==(const PlannedArgument&, const PlannedArgument&) = default;
};

struct PlannedLaunch {
  std::string function;
  std::vector<int64_t> local;   // Work-items.
  std::vector<int64_t> groups;  // Work-groups.
  std::vector<PlannedArgument> arguments;
  int64_t shared_bytes = 0;           // Dynamic shared memory of each work-group.
  bool is_cooperative = false;        // All work-groups run at once.
  std::vector<int64_t> cluster = {};  // Work-groups of a cluster; empty without clusters.

  friend bool operator==(const PlannedLaunch&, const PlannedLaunch&) = default;
};

struct KernelPlan {
  int64_t workspace_bytes = 0;
  std::map<std::string, int64_t> operand_bytes;  // Sizes of the problem's operands, by name.
  std::map<std::string, int64_t>
      element_bytes;                    // For the same operands; 1 for the workspace of bytes.
  std::vector<PlannedLaunch> launches;  // In order.

  friend bool operator==(const KernelPlan&, const KernelPlan&) = default;
};

// kUnsupported, with the expression and the value, if an expression cannot be evaluated for this
// problem or its value is impossible for a launch: an empty or huge work-group or grid, an int that
// needs 64 bits, a negative size.
Result<KernelPlan> MakePlan(const KernelFile& file, const Problem& problem, const Config& config);

// The macro for a size in the source: its name in capitals.
std::string MacroOf(std::string size);

// The program text: the file's prelude, one macro for each size, compile-time parameter and
// definition, then the file's source.
//   size S, compile-time: #define <S in capitals> <number>; run-time: #define <S in capitals> S,
//   which is then the name of the kernel's argument.
// For a binary, the binary itself.
Result<std::string> MakeSource(const KernelFile& file, const Problem& problem,
                               const Config& config);

// The macros alone, which distinguish programs of one file.
Result<std::string> MakeMacros(const KernelFile& file, const Problem& problem,
                               const Config& config);

// Ok, or kUnsupported with the first rule of `file.applies` that `problem` breaks.
Status CheckApplies(const KernelFile& file, const Problem& problem, const Config& device_limits);

// Ok, or kUnsupported with the first constraint that `config` breaks for `problem`.
Status CheckConstraints(const KernelFile& file, const Problem& problem, const Config& config,
                        const Config& device_limits);

// Parameters, constraints and constants of the space of one problem.
Result<ConfigSpace> MakeSpace(const KernelFile& file, const Problem& problem,
                              const Config& device_limits);

// The first config of that space, which is the default, without making the space where possible.
Result<Config> DefaultConfig(const KernelFile& file, const Problem& problem,
                             const Config& device_limits);

// The same space, by ascending cost behind the default if the file has a cost. Evaluates the cost
// of each config: DefaultConfig is cheaper if only the default is needed.
Result<ConfigSpace> MakeSortedSpace(const KernelFile& file, const Problem& problem,
                                    const Config& device_limits);

// Traits of every solver made from `file`; `dynamic` follows from its sizes.
SolverTraits TraitsOf(const KernelFile& file);

// The plan as one line of JSON and back: the input for a compiler that warms a program up.
std::string Text(const KernelPlan& plan);
Result<KernelPlan> ParseKernelPlan(std::string_view text);

}  // namespace attune::kernel
