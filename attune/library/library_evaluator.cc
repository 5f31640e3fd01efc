#include "attune/library/library_evaluator.h"

#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "attune/base/steady_time.h"
#include "attune/compile/builder.h"

namespace attune {
namespace {

// Candidates come one after the other: each has the device alone.
constexpr size_t kBatch = 4;

// The key under which a search's result is kept: the recipe `built`, and everything else that
// decides about it.
BuildRecipe SearchRecipe(BuildRecipe built, const LibraryReport& report) {
  built.options += " and what a search found";
  built.compiler += fmt::format(" {} {}", report.version, report.build_id);
  return built;
}

class LibraryTimer final : public BlockTimer {
 public:
  LibraryTimer(const Library& library, const Problem& problem, std::string device,
               std::vector<FoundCandidate> built)
      : library_(library),
        problem_(problem),
        device_(std::move(device)),
        built_(std::move(built)) {}

  // One run, however many launches are asked for: starting it again for each would time the start.
  tl::expected<double, Failure> TimeBlock(size_t index, const TimingRequest& request) override {
    if (request.cache != CacheState::kWarm) {
      return tl::unexpected(Failure{
          FailureKind::kRunFailed, Phase::kMeasure,
          fmt::format("Its caches are the program's own and cannot be {}.", Name(request.cache))});
    }
    const FoundCandidate& built = built_[index];
    auto time = library_.Run({problem_, built.candidate, built.artifact, device_});
    if (time) return time->time_ns;
    Failure failure = std::move(time.error());
    failure.phase = Phase::kMeasure;
    return tl::unexpected(std::move(failure));
  }
  int generation() const override { return 0; }

 private:
  const Library& library_;
  const Problem problem_;
  const std::string device_;
  const std::vector<FoundCandidate> built_;
};

class LibraryEvaluator final : public Evaluator {
 public:
  LibraryEvaluator(const Library& library, std::string device, KernelCache& cache)
      : library_(library), device_(std::move(device)), cache_(cache), builder_(cache) {}

  Status Begin(const Problem& problem, uint64_t, const EvaluationTerms& terms,
               const ReferenceTerms&) override {
    if (terms.rotation_bytes > 0 || terms.output_check.has_value()) {
      return Unsupported(
          fmt::format("{} has its own operands, which cannot be rotated, and outputs, which cannot "
                      "be compared.",
                      library_.name()));
    }
    problem_ = problem;
    found_.clear();
    busy_ = {};
    return Status::Ok();
  }

  // Solver::ListOn takes an opened device, but libraries open none.
  Result<std::vector<Config>> List(const SolverId&) override { return std::vector<Config>(); }

  size_t batch_size() const override { return kBatch; }

  Status QualifyFrom(CandidateStream& stream, const QualifyTime& time) override {
    bool has_begun = false;
    while (!has_begun || (!stream.IsOver() && SteadyNowNs() < time.begin_by_ns)) {
      const std::optional<Candidate> candidate = stream.Next();
      if (!candidate.has_value()) break;
      has_begun = true;
      const int64_t begin_ns = SteadyNowNs();
      Qualified result = QualifyOne(*candidate);
      busy_.intervals.push_back({begin_ns, SteadyNowNs()});
      stream.Tell(std::move(result));
    }
    return Status::Ok();
  }

  Result<std::unique_ptr<BlockTimer>> StartTiming(std::span<const Candidate> candidates) override {
    std::vector<FoundCandidate> built;
    for (const Candidate& candidate : candidates) {
      const auto found = found_.find(candidate);
      if (found != found_.end()) {
        built.push_back({candidate, found->second});
        continue;
      }
      BuildOutcome outcome = Build(candidate);
      if (const Failure* failure = outcome.failure()) {
        return Internal(fmt::format("Candidate {} qualified and cannot be built again: {}",
                                    Text(candidate), failure->message));
      }
      built.push_back({candidate, *outcome.artifact()});
    }
    return std::unique_ptr<BlockTimer>(
        std::make_unique<LibraryTimer>(library_, problem_, device_, std::move(built)));
  }

  BusyTime TakeBusyTime() override { return std::exchange(busy_, {}); }

 private:
  BuildOutcome Build(const Candidate& candidate) {
    const Solver* const solver = FindSolver(library_.solvers(), candidate.solver);
    if (solver == nullptr) {
      BuildOutcome gone;
      gone.result = Failure{FailureKind::kNotApplicable, Phase::kBuild,
                            fmt::format("There is no solver {}.", Text(candidate.solver))};
      return gone;
    }
    return builder_.Build({solver, problem_, candidate.config}, library_.target());
  }

  Qualified QualifyOne(const Candidate& asked) {
    Qualified result;
    result.trial.candidate = asked;
    result.trial.role = TrialRole::kQualify;
    BuildOutcome outcome = Build(asked);
    result.trial.build_ns = outcome.build_ns;
    if (const Failure* failure = outcome.failure()) {
      result.trial.outcome = *failure;
      return result;
    }
    auto settled = Settle(asked, *outcome.artifact());
    if (!settled) {
      result.trial.outcome = std::move(settled.error());
      return result;
    }
    const auto& [candidate, artifact] = *settled;
    if (candidate != asked) {
      result.asked = asked;
      result.trial.candidate = candidate;
    }
    auto time = library_.Run({problem_, candidate, artifact, device_});
    if (!time) {
      result.trial.outcome = std::move(time.error());
      return result;
    }
    result.trial.workspace_bytes = time->workspace_bytes;
    result.quick_ns = time->time_ns;
    return result;
  }

  // The candidate to run in place of `asked`: itself, or the result of a search, now or before.
  tl::expected<FoundCandidate, Failure> Settle(const Candidate& asked, const Artifact& built) {
    const Solver& solver = *FindSolver(library_.solvers(), asked.solver);
    if (!solver.traits().searches) return FoundCandidate{asked, built};
    const auto recipe = solver.Recipe(problem_, asked.config, library_.target());
    auto found = recipe.ok() ? Remembered(solver, *recipe) : std::nullopt;
    if (!found.has_value()) {
      auto searched = library_.Search({problem_, asked, built, device_});
      if (!searched) return tl::unexpected(std::move(searched.error()));
      if (!searched->has_value()) return FoundCandidate{asked, built};
      found = std::move(*searched);
      if (recipe.ok()) Remember(solver, *recipe, *found);
    }
    found_[found->candidate] = found->artifact;
    return std::move(*found);
  }

  std::optional<FoundCandidate> Remembered(const Solver& solver, const BuildRecipe& asked) {
    const auto text = cache_.Find(SearchRecipe(asked, library_.Report()));
    if (!text.has_value()) return std::nullopt;
    auto candidate = ParseCandidate(text->bytes);
    if (!candidate.ok()) return std::nullopt;
    const auto recipe = solver.Recipe(problem_, candidate->config, library_.target());
    auto artifact = recipe.ok() ? cache_.Find(*recipe) : std::nullopt;
    if (!artifact.has_value()) return std::nullopt;
    return FoundCandidate{std::move(*candidate), std::move(*artifact)};
  }

  // Without a kept result the next call searches again.
  void Remember(const Solver& solver, const BuildRecipe& asked, const FoundCandidate& found) {
    const auto recipe = solver.Recipe(problem_, found.candidate.config, library_.target());
    if (!recipe.ok() || !cache_.Store(*recipe, found.artifact).ok()) return;
    (void)cache_.Store(SearchRecipe(asked, library_.Report()), {Text(found.candidate)});
  }

  const Library& library_;
  const std::string device_;
  KernelCache& cache_;
  Builder builder_;
  Problem problem_;
  std::map<Candidate, Artifact> found_;  // By searches for this problem.
  BusyTime busy_;
};

}  // namespace

std::unique_ptr<Evaluator> MakeLibraryEvaluator(const Library& library, std::string device,
                                                KernelCache& cache) {
  return std::make_unique<LibraryEvaluator>(library, std::move(device), cache);
}

}  // namespace attune
