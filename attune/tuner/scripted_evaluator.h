// Candidates with times from a script, on a fake clock: for tests of whole tunings.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attune/base/random.h"
#include "attune/measure/block_timer.h"
#include "attune/measure/fake_clock.h"
#include "attune/measure/figure_meter.h"
#include "attune/measure/synthetic_timer.h"
#include "attune/tuner/evaluator.h"

namespace attune {

// The time of one launch of config `p`.
using LaunchTime = std::function<double(int64_t p)>;

// The metrics of config `p`; a failure of the candidate.
using LaunchFigures = std::function<tl::expected<MeterReading, Failure>(int64_t p)>;

// Warms up as evaluators do, at the cost of time on the clock.
class WarmingTimer final : public BlockTimer, public FigureMeter {
 public:
  // `told` holds the device conditions, one answer for each query.
  WarmingTimer(std::vector<double> times_ns, double sigma, uint64_t seed, FakeClock& clock,
               std::vector<DeviceConditions> told)
      : times_ns_(times_ns),
        warmed_(times_ns.size(), false),
        clock_(clock),
        timer_(std::move(times_ns), {.sigma = sigma, .spike_probability = 0.005}, seed, clock),
        told_(std::move(told)) {}

  tl::expected<double, Failure> TimeBlock(size_t index, const TimingRequest& request) override {
    if (!warmed_[index] || times_ns_[index] <= kLongLaunchNs) {
      clock_.Advance(std::llround(times_ns_[index]));
    }
    warmed_[index] = true;
    return timer_.TimeBlock(index, request);
  }
  // From now on candidate `i` has the metrics of config ps[i]; without `figures` nothing is
  // measured.
  void MeterAs(LaunchFigures figures, std::vector<int64_t> ps) {
    figures_ = std::move(figures);
    ps_ = std::move(ps);
  }
  tl::expected<MeterReading, Failure> Meter(size_t index, const MeterRequest&) override {
    clock_.Advance(std::llround(times_ns_[index]));
    return figures_(ps_[index]);
  }
  Status CheckMeter(const MeterRequest&) override {
    return figures_ ? Status::Ok() : Unsupported("As told.");
  }
  int generation() const override { return 0; }
  Result<std::optional<DeviceConditions>> Conditions() override {
    if (asked_ == told_.size()) return std::optional<DeviceConditions>();
    return std::optional(told_[asked_++]);
  }

 private:
  std::vector<double> times_ns_;
  std::vector<bool> warmed_;
  FakeClock& clock_;
  SyntheticTimer timer_;
  std::vector<DeviceConditions> told_;
  LaunchFigures figures_;
  std::vector<int64_t> ps_;
  size_t asked_ = 0;
};

// Qualifies two at once: each verified by one launch and timed by another, which takes up to 1.2
// times as long as it would alone.
class ScriptedEvaluator final : public Evaluator {
 public:
  ScriptedEvaluator(LaunchTime time_ns, uint64_t seed, FakeClock& clock)
      : time_ns_(std::move(time_ns)), seed_(seed), random_(seed), clock_(clock) {}

  Status Begin(const Problem& problem, uint64_t, const EvaluationTerms&,
               const ReferenceTerms& reference) override {
    if (std::find(refused_.begin(), refused_.end(), problem) != refused_.end()) {
      return Internal("As told.");
    }
    for (int step = 0; step < reference_steps_; ++step) {
      clock_.Advance(1'000'000'000);
      if (!reference.go_on(1.0 * step / reference_steps_)) return DeadlineExceeded("Stopped.");
    }
    return Status::Ok();
  }
  Result<std::vector<Config>> List(const SolverId& solver) override {
    listed_solvers_.push_back(solver.name);
    clock_.Advance(list_ns_);
    return listed_;
  }
  Status QualifyFrom(CandidateStream& stream, const QualifyTime& time) override {
    size_t& begun = batches_.emplace_back(0);
    const size_t most = breaks_after_;
    while (begun == 0 || (!stream.IsOver() && clock_.NowNs() < time.begin_by_ns)) {
      const std::optional<Candidate> next = stream.Next();
      if (!next.has_value()) break;
      if (begun == most) return Internal("As told.");
      ++begun;
      const Candidate& candidate = *next;
      const double time_ns = TimeOf(candidate);
      const int64_t begin_ns = clock_.NowNs();
      clock_.Advance(std::llround(2 * time_ns / 2));
      busy_.of_device.push_back({begin_ns, clock_.NowNs()});
      Qualified result;
      result.trial.candidate = candidate;
      result.trial.role = TrialRole::kQualify;
      result.quick_ns = time_ns * (1 + (is_fair_ ? 0 : 0.2 * random_.Uniform()));
      const auto slow = load_ns_.find(IntegerAt(candidate.config, "p"));
      if (slow != load_ns_.end()) result.trial.load_ns = slow->second;
      const auto failing = failing_.find(IntegerAt(candidate.config, "p"));
      const bool solver_fails = candidate.solver.name == failing_solver_;
      if (all_fail_ || solver_fails || failing != failing_.end()) {
        const FailureKind kind =
            failing == failing_.end() ? FailureKind::kRunFailed : failing->second;
        result.trial.outcome = Failure{kind, Phase::kRun, "As told."};
        result.quick_ns = 0;
      }
      const auto found = found_.find(IntegerAt(candidate.config, "p"));
      if (found != found_.end()) {
        result.asked = candidate;
        result.trial.candidate.config = {{"p", found->second}};
        result.quick_ns = TimeOf(result.trial.candidate);
      }
      stream.Tell(std::move(result));
    }
    return Status::Ok();
  }
  Result<std::unique_ptr<BlockTimer>> StartTiming(std::span<const Candidate> candidates) override {
    std::vector<double> times_ns;
    std::vector<int64_t> ps;
    for (const Candidate& candidate : candidates) {
      times_ns.push_back(TimeOf(candidate));
      ps.push_back(IntegerAt(candidate.config, "p"));
    }
    auto timer =
        std::make_unique<WarmingTimer>(std::move(times_ns), sigma_, ++seed_, clock_, told_);
    timer->MeterAs(figures_, std::move(ps));
    return std::unique_ptr<BlockTimer>(std::move(timer));
  }
  BusyTime TakeBusyTime() override { return std::exchange(busy_, {}); }

  // From now on config `p` takes this long to create, while the others qualify beside it.
  void CreateSlowly(int64_t p, int64_t load_ns) { load_ns_[p] = load_ns; }
  // From now on a reference takes this many seconds.
  void ComputeReferencesFor(int seconds) { reference_steps_ = seconds; }
  // From now on times scatter by the factor e^sigma, as if other work runs beside.
  void Disturb(double sigma) { sigma_ = sigma; }
  // From now on `problem` cannot be evaluated.
  void Refuse(Problem problem) { refused_.push_back(std::move(problem)); }
  // From now on the device lists `configs` for every solver that asks it, in this time.
  void ListOnDevice(std::vector<Config> configs, int64_t list_ns = 0) {
    listed_ = std::move(configs);
    list_ns_ = list_ns;
  }
  // Names of the solvers that were asked for a list since the last call.
  std::vector<std::string> TakeListedSolvers() { return std::exchange(listed_solvers_, {}); }
  // From now on a device that times candidates reports these conditions, one after another.
  void TellConditions(std::vector<DeviceConditions> told) { told_ = std::move(told); }
  // From now on no candidate of the solver of this name qualifies.
  void FailSolver(std::string name) { failing_solver_ = std::move(name); }
  // From now on candidates have these metrics.
  void MeterAs(LaunchFigures figures) { figures_ = std::move(figures); }
  // From now on evaluation fails after this many results of a call.
  void BreakAfter(size_t results) { breaks_after_ = results; }
  // From now on no candidate qualifies.
  void FailAll() { all_fail_ = true; }

  // From now on config `p` fails in that way.
  void Fail(int64_t p, FailureKind kind) { failing_[p] = kind; }
  // From now on config `p` searches and finds `found`.
  void Search(int64_t p, int64_t found) { found_[p] = found; }
  // From now on qualified candidates are timed as if they ran alone.
  void QualifyFairly() { is_fair_ = true; }

  // Number of candidates begun by each call of Qualify and QualifyFrom.
  const std::vector<size_t>& batches() const { return batches_; }

 private:
  double TimeOf(const Candidate& candidate) const {
    return time_ns_(IntegerAt(candidate.config, "p"));
  }

  LaunchTime time_ns_;
  std::map<int64_t, int64_t> load_ns_;
  std::vector<Config> listed_;
  int64_t list_ns_ = 0;
  std::vector<std::string> listed_solvers_;
  std::vector<DeviceConditions> told_;
  LaunchFigures figures_;
  bool all_fail_ = false;
  size_t breaks_after_ = SIZE_MAX;
  std::string failing_solver_;
  std::map<int64_t, FailureKind> failing_;
  std::map<int64_t, int64_t> found_;
  bool is_fair_ = false;
  std::vector<Problem> refused_;
  int reference_steps_ = 0;
  double sigma_ = 0.02;
  std::vector<size_t> batches_;
  BusyTime busy_;
  uint64_t seed_;
  Random random_;
  FakeClock& clock_;
};

}  // namespace attune
