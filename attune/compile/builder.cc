#include "attune/compile/builder.h"

#include <cassert>
#include <chrono>
#include <condition_variable>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "attune/solver/drafter.h"
#include "attune/solver/fit_checker.h"
#include "attune/solver/state_keeper.h"

namespace attune {
namespace {

std::string BoundedLog(const std::string& log) {
  if (log.size() <= Builder::kMaxLogBytes) return log;
  constexpr size_t kHalfBytes = Builder::kMaxLogBytes / 2;
  return fmt::format("{}\n[{} bytes left out]\n{}", log.substr(0, kHalfBytes),
                     log.size() - 2 * kHalfBytes, log.substr(log.size() - kHalfBytes));
}

Failure FailureFrom(const Status& status) {
  const bool memory = status.code() == StatusCode::kResourceExhausted;
  return {memory ? FailureKind::kOutOfMemory : FailureKind::kBuildFailed, Phase::kBuild,
          BoundedLog(status.message())};
}

BuildOutcome OutcomeFrom(Failure failure) {
  BuildOutcome outcome;
  outcome.result = std::move(failure);
  return outcome;
}

BuildOutcome OutcomeFrom(Artifact cached) {
  BuildOutcome outcome;
  outcome.result = std::move(cached);
  outcome.from_cache = true;
  return outcome;
}

}  // namespace

// A running compilation, and the threads that wait for it.
struct Builder::Flight {
  std::mutex mutex;
  std::condition_variable landed;
  std::optional<BuildOutcome> outcome;  // Guarded by mutex.
};

Builder::~Builder() = default;

BuildOutcome Builder::Build(const BuildRequest& request, const Target& target) {
  assert(request.solver != nullptr);
  const Result<BuildRecipe> recipe = RecipeOf(request, target);
  if (!recipe.ok()) {
    return OutcomeFrom(
        {FailureKind::kNotApplicable, Phase::kBuild, BoundedLog(recipe.error().message())});
  }
  if (recipe->empty()) {
    BuildOutcome library_call;
    library_call.from_cache = true;
    return library_call;
  }
  BuildOutcome outcome = BuildRecipeOnce(*request.solver, *recipe);
  const auto* const checker = dynamic_cast<const FitChecker*>(request.solver);
  if (checker == nullptr || outcome.artifact() == nullptr) return outcome;
  // Depends on this config, not on the code, which other configs may launch differently.
  const Result<std::optional<int>> blocks =
      checker->BlocksThatFit({*outcome.artifact(), request.problem, request.config}, target);
  if (blocks.ok()) {
    outcome.blocks_per_multiprocessor = *blocks;
  } else {
    const bool is_incomplete = blocks.error().code() == StatusCode::kNotFound;
    outcome.result =
        Failure{is_incomplete ? FailureKind::kBuildFailed : FailureKind::kNotApplicable,
                Phase::kBuild, BoundedLog(blocks.error().message())};
  }
  return outcome;
}

Result<BuildRecipe> Builder::RecipeOf(const BuildRequest& request, const Target& target) {
  auto recipe = request.solver->Recipe(request.problem, request.config, target);
  const auto* const drafter = dynamic_cast<const Drafter*>(request.solver);
  if (!request.is_draft || drafter == nullptr || !recipe.ok()) return recipe;
  ATTUNE_ASSIGN_OR_RETURN(BuildRecipe draft, drafter->Draft(*recipe, target));
  if (draft.empty() || cache_.Find(*recipe).has_value()) return recipe;
  return draft;
}

Result<LoadedCandidate> Builder::Load(const BuildRequest& request, const Artifact& artifact,
                                      Device& device) {
  assert(request.solver != nullptr);
  LoadedCandidate loaded;
  const auto* const keeper = dynamic_cast<const StateKeeper*>(request.solver);
  const BuildRecipe key = keeper == nullptr
                              ? BuildRecipe()
                              : keeper->StateKey(request.problem, request.config, device.target());
  if (key.empty()) {
    ATTUNE_ASSIGN_OR_RETURN(
        loaded.executable, request.solver->Load(artifact, request.problem, request.config, device));
    return loaded;
  }
  // Two processes that make one at the same time make the same: neither waits for a turn.
  const std::optional<Artifact> kept = cache_.Find(key);
  ATTUNE_ASSIGN_OR_RETURN(LoadedWithState made,
                          keeper->LoadWith(kept.has_value() ? kept->bytes : std::string(),
                                           {artifact, request.problem, request.config}, device));
  if (!made.state.empty()) loaded.cache_status = cache_.Store(key, {std::move(made.state)});
  loaded.executable = std::move(made.executable);
  loaded.is_out_of_state = made.is_out_of_state;
  return loaded;
}

BuildOutcome Builder::BuildRecipeOnce(const Solver& solver, const BuildRecipe& recipe) {
  const Fingerprint key = KernelCacheKey(recipe);
  std::shared_ptr<Flight> flight;
  bool leads = false;
  {
    const std::lock_guard lock(mutex_);
    if (const auto failed = failures_.find(key); failed != failures_.end()) {
      return OutcomeFrom(failed->second);
    }
    auto [place, inserted] = flights_.try_emplace(key);
    if (inserted) place->second = std::make_shared<Flight>();
    flight = place->second;
    leads = inserted;
  }
  if (!leads) {
    std::unique_lock lock(flight->mutex);
    flight->landed.wait(lock, [&] { return flight->outcome.has_value(); });
    BuildOutcome shared = *flight->outcome;
    shared.from_cache = shared.artifact() != nullptr;
    return shared;
  }
  BuildOutcome outcome = FindOrCompile(solver, recipe);
  {
    // The artifact is in the cache, or the failure in failures_, before the flight is removed: a
    // later thread finds one of the three.
    const std::lock_guard lock(mutex_);
    if (outcome.failure() != nullptr && failures_.size() < kMaxRememberedFailures) {
      failures_.emplace(key, *outcome.failure());
    }
    flights_.erase(key);
  }
  {
    const std::lock_guard lock(flight->mutex);
    flight->outcome = outcome;
  }
  flight->landed.notify_all();
  return outcome;
}

BuildOutcome Builder::FindOrCompile(const Solver& solver, const BuildRecipe& recipe) {
  if (auto cached = cache_.Find(recipe)) return OutcomeFrom(*std::move(cached));
  const BuildTurn turn = cache_.AwaitTurn(recipe);
  if (turn.is_compiled) {
    if (auto cached = cache_.Find(recipe)) return OutcomeFrom(*std::move(cached));
  }
  BuildOutcome outcome;
  const auto begin = std::chrono::steady_clock::now();
  BuildRecipe asked = recipe;
  asked.warns = options_.warns;
  Result<Artifact> artifact = solver.Build(asked);
  const auto elapsed = std::chrono::steady_clock::now() - begin;
  outcome.build_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(elapsed).count();
  if (artifact.ok()) {
    const std::string log = std::exchange(artifact->log, {});
    if (!log.empty() && options_.on_warnings != nullptr) {
      options_.on_warnings(
          fmt::format("{} {}:\n{}\n", Text(solver.id()), recipe.options, BoundedLog(log)));
    }
    outcome.cache_status = cache_.Store(recipe, *artifact);
    outcome.result = *std::move(artifact);
  } else {
    outcome.result = FailureFrom(artifact.error());
  }
  return outcome;
}

}  // namespace attune
