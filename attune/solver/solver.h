// One way to compute a family of problems.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "attune/base/status.h"
#include "attune/device/device.h"
#include "attune/problem/problem.h"
#include "attune/problem/target.h"
#include "attune/space/config_space.h"
#include "attune/trial/candidate.h"

namespace attune {

// The input of a candidate's compilation, as one value: equal recipes give equal artifacts, so the
// kernel cache is keyed by it. Empty `source` means that nothing is compiled (a library is called).
struct BuildRecipe {
  std::string source;    // The program text.
  std::string options;   // Compiler options, defines included.
  std::string compiler;  // Identity of the compiler, version included.
  std::string target;    // Target of the code: architecture, device name, driver where it matters.
  bool warns = true;     // False: compile without warnings. The code is the same.

  bool empty() const { return source.empty(); }
  friend bool operator==(const BuildRecipe&, const BuildRecipe&) = default;
};

// Compiled code. Empty for a library call.
struct Artifact {
  std::string bytes;
  std::string log = {};  // Compiler warnings. Builder removes them before it caches the code.

  friend bool operator==(const Artifact&, const Artifact&) = default;
};

// Traits that `attune solvers` shows and policies query.
struct SolverTraits {
  std::string description;    // One line.
  std::string operator_name;  // "gemm", "conv", ...
  bool dynamic = true;        // One build serves every size: a shape never seen compiles nothing.
  bool compiles = false;      // Build() does something.
  // Load() compiles from source, which takes seconds, in every process, and only the driver may
  // keep the result: the library has no way to hand it out.
  bool compiles_when_loaded = false;
  bool deterministic = true;  // Two runs agree bit for bit.
  // Load() takes microseconds: nothing is compiled, generated or packed. Such a solver can serve a
  // new shape without making the caller wait.
  bool instant = false;
  // Space() has only configs that any machine can name; only the device's library can list the
  // others (ListOn).
  bool listed_on_device = false;
  // A config of Space() names a search on the device, by itself or its library; the config that the
  // search finds, with all its parameters, is then timed and recorded.
  bool searches = false;
  // Load() refuses a config of ListOn() that reads wider words than the operands of the problem are
  // aligned to. Without this check, a config tried on better aligned operands may read at
  // misaligned addresses, which ends the context of the calling program.
  bool checks_alignment = false;
  // True if results follow IEEE 754 for NaN, infinities and subnormal numbers of f32 and f64, for
  // operators that promise it (Operator::PromisesSpecialValues()). A GEMM must also not read C if
  // beta is 0. Tuning and the conformance suite verify this.
  bool ieee_special_values = false;
  // True if the library destroys objects at exit that a call needs. ExitGate keeps calls out once
  // an exit of the process has begun.
  bool fails_at_exit = false;
  bool last_resort = false;  // Slow by design (a plain reference): tuned only if asked for by name.
};

// Stateless and thread-safe; every method may be called at any time in any order. No method but
// Load and ListOn needs the device.
class Solver {
 public:
  virtual ~Solver() = default;

  virtual const SolverId& id() const = 0;
  virtual const SolverTraits& traits() const = 0;

  // Ok, or kUnsupported (the solver does not compute the problem), or kUnavailable (its library is
  // missing here), with the reason. Quick: no build, no allocation that grows with the problem.
  virtual Status IsApplicable(const Problem& problem, const Target& target) const = 0;

  // The configs that are worth trying on an applicable problem. Index 0 is the default: the config
  // that a user of this library would get without tuning.
  virtual Result<ConfigSpace> Space(const Problem& problem, const Target& target) const = 0;

  // True if traits().ieee_special_values holds for this problem. Override it if an activation does
  // not keep NaN.
  virtual bool KeepsSpecialValues(const Problem& problem) const {
    (void)problem;
    return traits().ieee_special_values;
  }

  // The config at index 0 of Space(). Worth overriding if listing the space is slow: a caller that
  // must serve a problem now needs only this. REQUIRES: the problem is applicable.
  virtual Result<Config> DefaultConfig(const Problem& problem, const Target& target) const;

  // Configs beyond Space() that the library of an opened device lists for an applicable problem,
  // best guess first. Empty unless traits().listed_on_device. It needs the device as Load does.
  virtual Result<std::vector<Config>> ListOn(Device& device, const Problem& problem) const {
    (void)device;
    (void)problem;
    return std::vector<Config>();
  }

  // True if a candidate computes in a process that was forked from one in which it had computed:
  // false if its library would wait for threads that are gone. Asked without a problem.
  virtual bool RunsAfterFork(const Config& config) const {
    (void)config;
    return true;
  }

  // True if a config that was verified on other problems may serve a problem without a run of its
  // own. False if the config makes a library return wrong results for some problems, or results
  // with an error beyond the bound of verification.
  virtual bool ServesUntried(const Config& config) const {
    (void)config;
    return true;
  }

  // The compiler's input for a config of Space().
  virtual Result<BuildRecipe> Recipe(const Problem& problem, const Config& config,
                                     const Target& target) const = 0;

  // Compiles. A pure function of `recipe`; called only if it is not empty.
  virtual Result<Artifact> Build(const BuildRecipe& recipe) const = 0;

  // Makes the candidate ready on `device`: primitives, the binary, the memory that it keeps.
  virtual Result<std::unique_ptr<Executable>> Load(const Artifact& artifact, const Problem& problem,
                                                   const Config& config, Device& device) const = 0;
};

// Best guess first, reference last. The first applicable one with its default config is the default
// candidate of a problem.
using SolverList = std::vector<std::unique_ptr<const Solver>>;

// Ok, or kUnsupported if `baseline`, the first solver that applies to a problem, is a last resort:
// those stand last in every list, so nothing else computes the problem and there is nothing to
// choose.
Status CheckLeavesAChoice(const Solver& baseline);

// The solver called `id`, or null. An exact match of name and version.
const Solver* FindSolver(const SolverList& solvers, const SolverId& id);

}  // namespace attune
