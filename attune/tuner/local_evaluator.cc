#include "attune/tuner/local_evaluator.h"

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "attune/base/steady_time.h"
#include "attune/compile/builder.h"
#include "attune/compile/kernel_cache.h"
#include "attune/kernel/data_file.h"
#include "attune/measure/figure_meter.h"
#include "attune/problem/own_kernel.h"
#include "attune/tuner/candidate_runner.h"
#include "attune/tuner/own_reference.h"
#include "attune/verify/problem_data.h"

namespace attune {
namespace {

class LocalBlockTimer final : public BlockTimer, public FigureMeter {
 public:
  LocalBlockTimer(CandidateRunner& runner, Device& device, std::vector<size_t> indices)
      : runner_(runner), device_(device), indices_(std::move(indices)) {}

  tl::expected<double, Failure> TimeBlock(size_t index, const TimingRequest& request) override {
    return runner_.Time(indices_[index], request);
  }
  tl::expected<MeterReading, Failure> Meter(size_t index, const MeterRequest& request) override {
    return runner_.Meter(indices_[index], request);
  }
  Status CheckMeter(const MeterRequest& request) override { return runner_.CheckMeter(request); }
  int generation() const override { return 0; }
  Result<std::optional<DeviceConditions>> Conditions() override { return device_.Conditions(); }

 private:
  CandidateRunner& runner_;
  Device& device_;
  std::vector<size_t> indices_;  // Indices in the runner, by index of the timer.
};

class LocalEvaluator final : public Evaluator {
 public:
  LocalEvaluator(const SolverList& solvers, Device& device)
      : solvers_(solvers), device_(device), builder_(cache_) {}

  Status Begin(const Problem& problem, uint64_t seed, const EvaluationTerms& terms,
               const ReferenceTerms& reference) override {
    runner_.reset();
    terms_ = terms;
    baseline_.reset();
    problem_ = problem;
    const int64_t begin_ns = SteadyNowNs();
    ReferenceTerms reference_terms = reference;
    reference_terms.read_data = kernel::ReadOwnData;
    LocalReferenceMaker maker(solvers_, device_, builder_);
    if (IsOwnKernel(problem)) reference_terms.maker = &maker;
    ATTUNE_ASSIGN_OR_RETURN(ProblemData data, ProblemData::Create(problem_, seed, reference_terms));
    data_.emplace(std::move(data));
    busy_.intervals.push_back({begin_ns, SteadyNowNs(), TuningStep::kReference});
    ATTUNE_ASSIGN_OR_RETURN(CandidateRunner runner, CandidateRunner::Create({.solvers = &solvers_,
                                                                             .device = &device_,
                                                                             .problem = &problem_,
                                                                             .data = &*data_,
                                                                             .builder = &builder_,
                                                                             .terms = terms}));
    runner_.emplace(std::move(runner));
    return Status::Ok();
  }

  Result<std::vector<Config>> List(const SolverId& solver) override {
    auto configs = runner_->List(solver);
    if (configs) return std::move(*configs);
    return Unavailable(configs.error().message);
  }

  Status QualifyFrom(CandidateStream& stream, const QualifyTime& time) override {
    std::optional<Agreement> agreement;
    if (terms_.output_check.has_value() && baseline_.has_value()) {
      agreement = Agreement{*baseline_, *terms_.output_check};
    }
    std::optional<Candidate> first_passed;
    bool has_begun = false;
    while (!has_begun || (!stream.IsOver() && SteadyNowNs() < time.begin_by_ns)) {
      const std::optional<Candidate> candidate = stream.Next();
      if (!candidate.has_value()) break;
      has_begun = true;
      const int64_t begin_ns = SteadyNowNs();
      Qualified result = QualifyOne(*candidate, agreement);
      NoteSteps(result.trial, begin_ns);
      if (!first_passed.has_value()) first_passed = FirstPassed({&result, 1});
      stream.Tell(std::move(result));
    }
    if (!baseline_.has_value()) baseline_ = first_passed;
    return Status::Ok();
  }

  void TakeOver(std::span<const Qualified> results) override {
    if (!baseline_.has_value()) baseline_ = FirstPassed(results);
  }

  Result<std::unique_ptr<BlockTimer>> StartTiming(std::span<const Candidate> candidates) override {
    std::vector<size_t> indices;
    for (const Candidate& candidate : candidates) {
      const auto index = runner_->Load(candidate);
      if (!index) {
        return Internal(fmt::format("Candidate {} qualified and cannot be loaded again: {}",
                                    Text(candidate), index.error().failure.message));
      }
      indices.push_back(*index);
    }
    return std::unique_ptr<BlockTimer>(
        std::make_unique<LocalBlockTimer>(*runner_, device_, std::move(indices)));
  }

  BusyTime TakeBusyTime() override {
    const int64_t now_ns = SteadyNowNs();
    if (runner_.has_value()) busy_.of_device.push_back({now_ns - runner_->TakeDeviceNs(), now_ns});
    return std::exchange(busy_, {});
  }

 private:
  // Notes the steps since `begin_ns`.
  void NoteSteps(const Trial& trial, int64_t begin_ns) {
    const std::string candidate = Text(trial.candidate);
    const int64_t built_ns = begin_ns + trial.build_ns;
    const int64_t loaded_ns = built_ns + trial.load_ns;
    const int64_t end_ns = std::max(SteadyNowNs(), loaded_ns);
    if (trial.build_ns > 0) {
      busy_.intervals.push_back({begin_ns, built_ns, TuningStep::kCompile, candidate});
    }
    busy_.intervals.push_back({built_ns, loaded_ns, TuningStep::kLoad, candidate});
    busy_.intervals.push_back({loaded_ns, end_ns, TuningStep::kVerify, candidate});
  }

  Qualified QualifyOne(const Candidate& candidate, const std::optional<Agreement>& agreement) {
    Qualified result;
    result.trial.candidate = candidate;
    result.trial.role = TrialRole::kQualify;
    const int64_t asked_ns = SteadyNowNs();
    auto outcome = runner_->Qualify(candidate, agreement);
    const int64_t answered_ns = SteadyNowNs();
    if (!outcome) result.trial.outcome = std::move(outcome.error().failure);
    const Qualification& known = outcome ? *outcome : outcome.error().qualification;
    result.trial.build_ns = known.build_ns;
    result.trial.load_ns = known.load_ns;
    result.verify_ns = VerifyNs(answered_ns - asked_ns, result.trial);
    result.trial.workspace_bytes = known.workspace_bytes;
    result.trial.max_error = known.max_error;
    result.trial.capture_failure = known.capture_failure;
    result.quick_ns = outcome ? known.quick_ns : 0;
    return result;
  }

  const SolverList& solvers_;
  Device& device_;
  MemoryKernelCache cache_;
  Builder builder_;
  Problem problem_;
  EvaluationTerms terms_;
  std::optional<Candidate> baseline_;  // The candidate that outputs are compared with.
  std::optional<ProblemData> data_;
  std::optional<CandidateRunner> runner_;
  BusyTime busy_;
};

}  // namespace

std::unique_ptr<Evaluator> MakeLocalEvaluator(const SolverList& solvers, Device& device) {
  return std::make_unique<LocalEvaluator>(solvers, device);
}

}  // namespace attune
