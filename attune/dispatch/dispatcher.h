// Decides what serves a problem, and makes it ready without making the caller wait.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attune/base/status.h"
#include "attune/compile/builder.h"
#include "attune/compile/kernel_cache.h"
#include "attune/device/device.h"
#include "attune/dispatch/fallback.h"
#include "attune/dispatch/forced_choice.h"
#include "attune/dispatch/plan.h"
#include "attune/dispatch/policy.h"
#include "attune/dispatch/ranking.h"
#include "attune/dispatch/time_predictor.h"
#include "attune/problem/target.h"
#include "attune/solver/solver.h"
#include "attune/trial/choice_source.h"
#include "attune/trial/match_policy.h"

namespace attune {

inline constexpr uint64_t kNoWorkspaceLimit = UINT64_MAX;

// What a dispatcher works with; everything is borrowed and outlives it.
struct DispatchParts {
  const SolverList* solvers = nullptr;
  Device* device = nullptr;
  Target target;
  Environment environment;
  MatchPolicy match = MatchPolicy::Default();
  KernelCache* kernels = nullptr;
  const TimePredictor* predictor = nullptr;  // May be null.
  Fallback* fallback = nullptr;              // May be null.
};

struct DispatchOptions {
  Scope scope = Scope::kAll;
  ForcedChoices forced;
  // Neither predictions nor defaults: what nobody measured, and where the default was measured to
  // be the best, is left to the caller.
  bool known_only = false;
  // GEMM is served only by solvers with SolverTraits::ieee_special_values. Forced solvers are
  // exempt.
  bool ieee_special_values = false;
  // The process was forked from one that computed: candidates that cannot run then are left out.
  bool after_fork = false;
  // Maximum threads of this process for a candidate on the host; 0: no limit.
  int max_threads = 0;
  // If a limit of the process keeps the preferred candidate from serving, no other candidate
  // serves. The caller has its own implementation.
  bool yields = false;
  // A tuned problem farther away says nothing: 2 is a factor of 4 in one size.
  double max_neighbour_distance = 2;
  // What a caller may be made to wait for a creation whose time is known: so much, or so large a
  // part of one launch.
  int64_t creation_budget_ns = 50'000;
  double creation_share = 0.3;
};

// A plan, and what should replace it.
struct Serving {
  // Its failure says so if nothing can serve before the background has compiled something.
  std::unique_ptr<Plan> plan;
  // Something else may be preferred, but finding that out or creating it would have made the caller
  // wait: it is left to the background.
  bool is_stand_in = false;
  bool is_tuned = false;
  // Something slow was created in the calling thread, for want of anything else.
  bool has_built = false;
  std::vector<std::string> skipped;   // Records that cannot be used here, and why.
  std::vector<std::string> failures;  // Of options without a record that could not be made ready.
};

// What one Load came to, whether or not it made a plan.
struct LoadOutcome {
  bool has_built = false;  // Something was compiled.
  // What the candidate needs, where that was too much.
  std::optional<uint64_t> excess_bytes;
};

// Whether `failure` to load `option` shows that its record is worth nothing here: not if it only
// needs more than somebody's limit.
bool Refutes(const Status& failure, const Option& option);

// What a call would get now.
struct Expectation {
  std::optional<Option> option;  // Nothing: it would fail, because something has to be compiled.
  bool waits = false;            // For a compilation or a creation that takes long.
};

// Thread-safe: it holds no state but what it was made with, and what is being compiled.
class Dispatcher {
 public:
  Dispatcher(DispatchParts parts, DispatchOptions options);

  // Candidates for `problem` that fit `workspace_limit_bytes` as far as that is known, in the order
  // forced, measured, compatible, nearest, predicted, default. kUnsupported if no solver applies,
  // with the reason of each; a forced choice that cannot serve is an error and nothing else is
  // tried. With known_only, kNotFound if no record is better than the default. Whether the
  // parameters of a record are still valid is seen when it is loaded, because some libraries take
  // longer to list theirs than a caller may wait. kFailedPrecondition if something applies and
  // nothing of it can be captured.
  Result<Decision> Decide(const Problem& problem, const ChoiceSource& choices,
                          uint64_t workspace_limit_bytes, Breadth breadth,
                          Launches launches = Launches::kExecuted) const;

  // Looks `problem` up once, for every Rank(). Borrows `choices`.
  Ranking Look(const Problem& problem, const ChoiceSource& choices, uint64_t workspace_limit_bytes,
               Launches launches = Launches::kExecuted) const;
  // Makes ranking.decision that of Decide(), which is Look() and Rank(). Does nothing if it has
  // that breadth.
  Status Rank(Ranking& ranking, Breadth breadth) const;

  // True if making `candidate` ready calls a compiler in this process.
  bool Compiles(const Candidate& candidate) const;

  // Decide by Breadth::kEverything with the workspace of every option that is ready looked up,
  // which creates it; those that need more than the limit are left out. kResourceExhausted names
  // the least that is needed if none is left.
  Result<Decision> DecideWithin(const Problem& problem, const ChoiceSource& choices,
                                uint64_t workspace_limit_bytes) const;

  // A plan by the first option that can be made ready in the given haste.
  Result<Serving> Serve(const Problem& problem, const ChoiceSource& choices,
                        uint64_t workspace_limit_bytes, Haste haste,
                        Launches launches = Launches::kExecuted) const;

  // The same by what was looked up, which is ranked further if nothing that is ready serves.
  Result<Serving> Serve(Ranking& ranking, Haste haste) const;

  // Makes one option ready, whatever that takes; compiles if it has to, and says so in `outcome`.
  // kResourceExhausted if it needs more workspace than the limit.
  Result<std::unique_ptr<Plan>> Load(const Problem& problem, const Option& option,
                                     uint64_t workspace_limit_bytes, LoadOutcome* outcome) const;

  // What Serve would take in that haste; `decision` is of Breadth::kEverything and not empty.
  Expectation Expect(const Problem& problem, const Decision& decision, Haste haste) const;

  // True if the caller computes what process limits keep from serving.
  bool yields() const { return options_.yields; }
  // Device::fails_at_exit.
  bool device_fails_at_exit() const { return device_fails_at_exit_; }
  // The number of threads of the processor that a candidate may use.
  int max_threads() const;
  // Whether a forced choice serves `problem`, whatever is known of it.
  bool Forces(const Problem& problem) const { return options_.forced.Find(problem) != nullptr; }
  // Whether Load returns before a caller notices, going by what is known.
  bool IsReady(const Problem& problem, const Option& option) const;
  // Whether it is so slow by design that a slow creation of anything else is quicker.
  bool Crawls(const Problem& problem, const Option& option) const;
  // Whether Load would have to compile.
  bool NeedsCompiler(const Problem& problem, const Option& option) const;

  const DispatchParts& parts() const { return parts_; }

 private:
  // Whether creating it takes no longer than a caller may be kept, if nothing has to be compiled.
  bool IsQuickOnceBuilt(const Option& option) const;

  // Adds options as far as ranking.breadth says; the reason if there must be one and is none.
  Status AddOptions(Ranking& ranking) const;
  Status WhyNoOption(const Ranking& ranking) const;
  // REQUIRES: a choice is forced.
  Status AddForced(Ranking& ranking) const;
  // The validity of the choice's candidate and its default together.
  Judgement JudgeChoice(const IndexedChoice& choice) const;
  Judgement Judge(const IndexedChoice& choice, const RankedCandidate& ranked) const;
  void AddRecords(Ranking& ranking) const;
  void AddRanking(Ranking& ranking, const IndexedChoice& choice, Origin origin,
                  const std::string& because) const;
  Result<std::vector<NearChoice>> FindNear(const Ranking& ranking) const;
  void AddNeighbours(Ranking& ranking) const;
  void AddNearChoice(Ranking& ranking, const NearChoice& near) const;
  void AddPredicted(Ranking& ranking) const;
  // The solver whose default serves where nothing is known; null if none applies.
  const Solver* FirstAsked(const Ranking& ranking) const;
  void AddDefaults(Ranking& ranking) const;
  bool AddDefault(Ranking& ranking, const Solver& solver) const;
  // Adds the default of a solver that is not instant if its code is loaded for another problem.
  bool AddLoadedDefault(Ranking& ranking, const Solver& solver) const;
  // Builds and loads a candidate, or takes code that is loaded.
  Result<std::unique_ptr<Executable>> LoadExecutable(const Problem& problem, const Option& option,
                                                     const Solver& solver,
                                                     LoadOutcome& outcome) const;
  // False if it is out of scope, above the limit, of no use after a fork or in a graph, or known.
  bool Add(Ranking& ranking, Option option) const;
  bool RunsHere(const Candidate& candidate) const { return WhyNotHere(candidate).ok(); }
  // kFailedPrecondition after a fork, kResourceExhausted if it needs more threads than allowed.
  Status WhyNotHere(const Candidate& candidate) const;
  // SolverTraits::fails_at_exit, or that of the device.
  bool FailsAtExit(const Solver& solver) const;
  // Solver::IsApplicable; kResourceExhausted during an exit if it fails then.
  Status IsApplicable(const Problem& problem, const Solver& solver) const;
  // Threads of this process that `candidate` uses; 1 on other devices.
  int64_t ThreadsOf(const Candidate& candidate) const;
  // The target; on the host, with the largest thread count that is allowed and that config spaces
  // have.
  Target AllowedTarget() const;
  // The default config of `solver` for the allowed number of threads. After a fork, the first
  // config that can run then; kFailedPrecondition if there is none. REQUIRES: it applies to
  // `problem`.
  Result<Candidate> DefaultOf(const Solver& solver, const Problem& problem) const;
  // Ok if the solver of `candidate` exists here and applies to the problem.
  Status Applies(const Problem& problem, const Candidate& candidate) const;
  // Ok if it also applies and IsUnwanted() is false.
  Status MayServe(const Problem& problem, const Candidate& candidate) const;
  Status MayServe(const Problem& problem, const Solver& solver) const;
  // True if it lacks the trait that DispatchOptions::ieee_special_values requires.
  bool IsUnwanted(const Problem& problem, const Solver& solver) const;
  bool IsUnwanted(const Problem& problem, const Candidate& candidate) const;
  // Ok if its parameters are valid for the problem, too.
  Status Fits(const Problem& problem, const Candidate& candidate) const;
  // Ok if the space of its solver, which applies, has its parameters.
  Status IsInSpace(const Problem& problem, const Candidate& candidate, const Solver& solver) const;
  // As Fits, for what was tried on other problems: what only the device lists, which checks shapes
  // itself, needs operands that are aligned as those may have been, unless its solver checks that,
  // too. kUnsupported if not Solver::ServesUntried.
  Status FitsUntried(const Problem& problem, const Candidate& candidate) const;
  Result<bool> HasConfig(const Problem& problem, const Config& config, const Solver& solver) const;
  const Solver* SolverOf(const Candidate& candidate) const;
  // Ok if the system can provide the workspace of `candidate`.
  Status CheckWorkspace(const Candidate& candidate, uint64_t needed_bytes) const;
  struct Attempt;
  // True if a limit kept the last tried option from serving and the caller is left to compute.
  bool Yields(const Attempt& attempt) const;
  // Serves by the first option that is ready; others wait in the attempt.
  bool TryReady(const Decision& decision, Attempt& attempt) const;
  bool Try(const Option& option, Attempt& attempt) const;
  // Serves by the first of those that wait, as far as they may be waited for.
  bool TrySlow(bool may_compile, Attempt& attempt) const;
  bool TryFallback(Attempt& attempt) const;
  Result<Serving> ServeSlowly(bool is_forced, Attempt& attempt) const;
  std::optional<Option> FallbackFor(const Problem& problem) const;
  Status FailureOf(const Attempt& attempt) const;
  // A serving that fails until the background has compiled the preferred option.
  Serving Unbuilt(Attempt& attempt) const;
  // Servings that leave the problem to the caller: until the background has made it ready, because
  // the default was measured to be the best, or for the reason given.
  Serving NotReady(Attempt& attempt) const;
  Serving DefaultIsBest(Attempt& attempt) const;
  Serving LeftToCaller(Attempt& attempt, std::string why) const;
  bool InScope(const Problem& problem, const Option& option) const;

  const DispatchParts parts_;
  const DispatchOptions options_;
  const Target allowed_target_;
  const bool device_fails_at_exit_;
  const std::unique_ptr<Builder> builder_;
};

}  // namespace attune
