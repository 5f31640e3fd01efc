// Compiles candidates, none twice.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "attune/base/fingerprint.h"
#include "attune/base/status.h"
#include "attune/compile/kernel_cache.h"
#include "attune/device/device.h"
#include "attune/problem/problem.h"
#include "attune/problem/target.h"
#include "attune/solver/solver.h"
#include "attune/space/config.h"
#include "attune/trial/trial.h"

namespace attune {

// The candidate to build. Borrows `solver` until the call returns.
struct BuildRequest {
  const Solver* solver = nullptr;
  Problem problem;
  Config config;
  // Builds a draft if the solver has drafts (Drafter) and the cache does not hold the final code.
  bool is_draft = false;
};

struct BuildOutcome {
  std::variant<Artifact, Failure> result;
  int64_t build_ns =
      // Compile time, also if another thread or process compiled it; 0 if it came out of the cache.
      0;
  bool from_cache = false;  // Nothing was compiled for it: cached, a duplicate, or a library call.
  Status
      cache_status;  // Why the artifact could not be kept, if so; the build is good all the same.

  // Blocks that fit at a time, by FitChecker; empty if unknown.
  std::optional<int> blocks_per_multiprocessor;

  const Artifact* artifact() const { return std::get_if<Artifact>(&result); }
  const Failure* failure() const { return std::get_if<Failure>(&result); }
};

struct LoadedCandidate {
  std::unique_ptr<Executable> executable;
  // The state of an earlier load was there, so this load found out and compiled nothing.
  bool is_out_of_state = false;
  Status cache_status;  // Why its state could not be kept, if so; the load is good all the same.
};

// Handling of compiler warnings. Errors are reported in the Failure of a build.
struct BuilderOptions {
  // False in foreign programs: compilers must not print there.
  bool warns = true;
  // Gets the bounded log of each successful compilation, after a line with the solver and options.
  // Called by the compiling threads; may be null.
  std::function<void(std::string_view log)> on_warnings = nullptr;
};

// Thread-safe. Two threads that ask for the same recipe at the same time share one compilation, and
// so do two processes with caches in the same folder; later ones find it in the cache. A recipe
// that failed is not tried again. The process that the compiler runs in enforces deadlines: no
// compiler here can be interrupted.
class Builder {
 public:
  // Compiler logs are cut to this many bytes: the head and the tail, which hold the errors.
  static constexpr size_t kMaxLogBytes = 16384;
  static constexpr size_t kMaxRememberedFailures = 4096;

  // Borrows `cache`.
  explicit Builder(KernelCache& cache, BuilderOptions options = {})
      : cache_(cache), options_(std::move(options)) {}
  ~Builder();
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  // Builds in the calling thread. kNotApplicable if the result fits no device of `target`, as far
  // as its solver can tell (FitChecker). For parallel builds, call from several threads, or, as
  // tuning does, from several processes that share a cache.
  BuildOutcome Build(const BuildRequest& request, const Target& target);

  // Loads an artifact, in the calling thread. The state that its solver exports from a load
  // (StateKeeper) is read from the cache, and stored there for the next time.
  Result<LoadedCandidate> Load(const BuildRequest& request, const Artifact& artifact,
                               Device& device);

 private:
  struct Flight;

  // The recipe of the final code, or of a draft if the request allows one and the final code is not
  // in the cache.
  Result<BuildRecipe> RecipeOf(const BuildRequest& request, const Target& target);
  BuildOutcome BuildRecipeOnce(const Solver& solver, const BuildRecipe& recipe);
  BuildOutcome FindOrCompile(const Solver& solver, const BuildRecipe& recipe);

  KernelCache& cache_;
  const BuilderOptions options_;
  std::mutex mutex_;  // Guards everything below.
  // Shared: the thread that compiles and those that wait for it; the last one drops it.
  std::map<Fingerprint, std::shared_ptr<Flight>> flights_;
  std::map<Fingerprint, Failure> failures_;
};

}  // namespace attune
