#include "attune/library/library_evaluator.h"

#include <utility>

#include <fmt/format.h>

#include "attune/base/steady_time.h"
#include "attune/compile/builder.h"

namespace attune {
namespace {

// Candidates come one after the other: each has the device alone.
constexpr size_t kBatch = 4;

// A candidate that was built, ready to be run again.
struct Built {
  Candidate candidate;
  Artifact artifact;
};

class LibraryTimer final : public BlockTimer {
 public:
  LibraryTimer(const Library& library, const Problem& problem, std::string device,
               std::vector<Built> built)
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
    const Built& built = built_[index];
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
  const std::vector<Built> built_;
};

class LibraryEvaluator final : public Evaluator {
 public:
  LibraryEvaluator(const Library& library, std::string device, KernelCache& cache)
      : library_(library), device_(std::move(device)), builder_(cache) {}

  Status Begin(const Problem& problem, uint64_t, const EvaluationTerms& terms,
               const ReferenceTerms&) override {
    if (terms.rotation_bytes > 0 || terms.output_check.has_value()) {
      return Unsupported(
          fmt::format("{} has its own operands, which cannot be rotated, and outputs, which cannot "
                      "be compared.",
                      library_.name()));
    }
    problem_ = problem;
    busy_ = {};
    return Status::Ok();
  }

  // Solver::ListOn takes an opened device, of which there is none.
  Result<std::vector<Config>> List(const SolverId&) override { return std::vector<Config>(); }

  size_t batch_size() const override { return kBatch; }

  Result<std::vector<Qualified>> Qualify(std::span<const Candidate> candidates,
                                         const QualifyTime& time,
                                         const QualifiedListener& on_each) override {
    std::vector<Qualified> results;
    for (const Candidate& candidate : candidates) {
      const int64_t begin_ns = SteadyNowNs();
      if (begin_ns >= time.begin_by_ns && !results.empty()) break;
      results.push_back(QualifyOne(candidate));
      if (on_each) on_each(results.back());
      busy_.intervals.push_back({begin_ns, SteadyNowNs()});
    }
    return results;
  }

  Result<std::unique_ptr<BlockTimer>> StartTiming(std::span<const Candidate> candidates) override {
    std::vector<Built> built;
    for (const Candidate& candidate : candidates) {
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

  Qualified QualifyOne(const Candidate& candidate) {
    Qualified result;
    result.trial.candidate = candidate;
    result.trial.role = TrialRole::kQualify;
    BuildOutcome outcome = Build(candidate);
    result.trial.build_ns = outcome.build_ns;
    if (const Failure* failure = outcome.failure()) {
      result.trial.outcome = *failure;
      return result;
    }
    auto time = library_.Run({problem_, candidate, *outcome.artifact(), device_});
    if (!time) {
      result.trial.outcome = std::move(time.error());
      return result;
    }
    result.trial.workspace_bytes = time->workspace_bytes;
    result.quick_ns = time->time_ns;
    return result;
  }

  const Library& library_;
  const std::string device_;
  Builder builder_;
  Problem problem_;
  BusyTime busy_;
};

}  // namespace

std::unique_ptr<Evaluator> MakeLibraryEvaluator(const Library& library, std::string device,
                                                KernelCache& cache) {
  return std::make_unique<LibraryEvaluator>(library, std::move(device), cache);
}

}  // namespace attune
