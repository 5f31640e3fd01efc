// The search of a session: its candidates, their order, and its deadline.
#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

#include "attune/tuner/tuning_session.h"

namespace attune {
namespace {

// Time of a trial; 0 if unknown.
double CostNs(const Qualified& result) {
  if (result.verify_ns == 0) return 0;
  return static_cast<double>(result.trial.build_ns + result.trial.load_ns + result.verify_ns);
}

}  // namespace

// Candidates of the source, whose results arrive in any order. The source gets results in the order
// in which it proposed the candidates, and proposes the next candidate right after each result. So
// the sequence of candidates depends on the results alone, not on how long each one took, and a run
// that resumes repeats it.
class TuningSession::SearchStream final : public CandidateStream {
 public:
  SearchStream(TuningSession& session, CandidateSource& source)
      : session_(session), source_(source), window_(session.parts_.evaluator->batch_size()) {
    Advance();
  }

  std::optional<Candidate> Next() override {
    if (waiting_.empty()) return std::nullopt;
    Candidate candidate = std::move(waiting_.front());
    waiting_.pop_front();
    session_.Begins(candidate);
    return candidate;
  }

  void Tell(Qualified result) override {
    const auto asked = std::find_if(asked_.begin(), asked_.end(), [&](const Asked& each) {
      return !each.result.has_value() && each.candidate == AskedOf(result);
    });
    asked->result = std::move(result);
    Advance();
  }

  bool IsOver() override { return session_.parts_.clock->NowNs() >= session_.SearchDeadlineNs(); }
  size_t size_limit() const override { return kUnlimited; }

  // Passes on results that wait behind a candidate without one.
  void Finish() {
    for (Asked& asked : asked_) {
      if (asked.result.has_value()) session_.Learn(source_, *asked.result);
    }
    asked_.clear();
  }

 private:
  struct Asked {
    Candidate candidate;
    std::optional<Qualified> result;
  };

  void Advance() {
    Fill();
    while (!asked_.empty() && asked_.front().result.has_value()) {
      const Qualified result = *std::move(asked_.front().result);
      asked_.pop_front();
      session_.Learn(source_, result);
      Fill();
    }
  }

  void Fill() {
    while (asked_.size() < window_ && !session_.PruningIsDone()) {
      std::vector<Candidate> next = session_.Ask(source_, 1, asked_.empty());
      if (next.empty()) return;
      next = session_.WithoutQuarantined(source_, std::move(next));
      if (next.empty()) continue;
      Asked& asked = asked_.emplace_back(Asked{next.front(), std::nullopt});
      std::vector<Qualified> known = session_.qualifier_.Recall(next);
      if (known.empty()) {
        waiting_.push_back(std::move(next.front()));
      } else {
        session_.Begins(asked.candidate);
        asked.result = std::move(known.front());
      }
    }
  }

  TuningSession& session_;
  CandidateSource& source_;
  const size_t window_;
  std::deque<Asked> asked_;        // Proposed by the source, without the results it already got.
  std::deque<Candidate> waiting_;  // Those of asked_ that are not begun.
};

Status TuningSession::QualifyDefaults(CandidateSource& source) {
  Report(Stage::kQualify);
  std::vector<Candidate> batch = source.Ask(parts_.evaluator->batch_size());
  defaults_ = batch;
  if (served_.has_value()) IncludeEarly(*served_, batch);
  if (standing_.has_value()) IncludeEarly(standing_->candidate, batch);
  // Comparing outputs and pruning need a default that works, so the others wait for it.
  const bool is_awaited = options_.terms.output_check.has_value() || pruning_.has_value();
  while (is_awaited && passed_.empty() && !batch.empty()) {
    const Candidate first = batch.front();
    batch.erase(batch.begin());
    ATTUNE_RETURN_IF_ERROR(QualifyBatch(source, WithoutQuarantined(source, {first})));
  }
  batch = WithoutQuarantined(source, std::move(batch));
  ATTUNE_RETURN_IF_ERROR(QualifyBatch(source, batch));
  // If the first default fails and uses up the time of the others, try these one at a time until
  // one passes or the run is over.
  for (size_t left = batch.size() + 1; passed_.empty() && batch.size() < left;) {
    const int64_t last_ns = Earlier(run_end_ns_, longest_end_ns_);
    if (last_ns > 0 && parts_.clock->NowNs() >= last_ns) break;
    left = batch.size();
    std::erase_if(batch, [this](const Candidate& each) { return !unfinished_.contains(each); });
    ATTUNE_RETURN_IF_ERROR(QualifyBatch(source, batch));
  }
  return Status::Ok();
}

Status TuningSession::QualifyOthers(CandidateSource& source) {
  SearchStream stream(*this, source);
  // The deadline moves as costs become known, so the stream checks it.
  const Status qualified = qualifier_.QualifyFrom(stream, TimeFor(QualifyTime::kForever));
  stream.Finish();
  progress_.considered = progress_.qualified + progress_.failed;
  ATTUNE_RETURN_IF_ERROR(qualified);
  return stream.IsOver() ? RecallOthers(source) : Status::Ok();
}

Status TuningSession::RecallOthers(CandidateSource& source) {
  while (qualifier_.HasMore()) {
    std::vector<Candidate> batch = Ask(source, parts_.evaluator->batch_size(), true);
    if (batch.empty()) break;
    batch = WithoutQuarantined(source, std::move(batch));
    const std::vector<Qualified> known = qualifier_.Recall(batch);
    // The interrupted run proposed other candidates from here on.
    if (known.empty() && !batch.empty()) break;
    for (const Qualified& result : known) {
      Begins(AskedOf(result));
      Learn(source, result);
    }
  }
  return Status::Ok();
}

bool TuningSession::IsStanding(const Candidate& candidate) const {
  return standing_.has_value() && standing_->candidate == candidate;
}

void TuningSession::IncludeEarly(const Candidate& candidate, std::vector<Candidate>& defaults) {
  const auto found = std::find(defaults.begin(), defaults.end(), candidate);
  // Early, because the time may be over soon, but after the first, which is the baseline.
  const auto second = defaults.begin() + std::min<std::ptrdiff_t>(1, std::ssize(defaults));
  if (found == defaults.end()) {
    early_.emplace(candidate, Answer());
    defaults.insert(second, candidate);
  } else if (found > second) {
    std::rotate(second, found, found + 1);
  }
}

std::vector<Candidate> TuningSession::Ask(CandidateSource& source, size_t max_count, bool is_idle) {
  for (;;) {
    std::vector<Candidate> batch = source.Ask(max_count, is_idle);
    const size_t asked = batch.size();
    std::erase_if(batch, [&](const Candidate& candidate) {
      const auto known = early_.extract(candidate);
      if (!known.empty()) source.Tell(candidate, known.mapped());
      return !known.empty();
    });
    if (!batch.empty() || asked == 0) return batch;
  }
}

void TuningSession::Tell(CandidateSource& source, const Candidate& candidate,
                         const Answer& answer) {
  const auto early = early_.find(candidate);
  if (early == early_.end()) {
    source.Tell(candidate, answer);
  } else {
    early->second = answer;
  }
}

std::vector<Candidate> TuningSession::WithoutQuarantined(CandidateSource& source,
                                                         std::vector<Candidate> batch) {
  std::erase_if(batch, [&](const Candidate& candidate) {
    if (!quarantined_.contains(candidate) || qualifier_.Knows(candidate)) return false;
    ++report_.quarantined;
    Tell(source, candidate, {});
    return true;
  });
  return WithoutHopeless(source, std::move(batch));
}

Status TuningSession::QualifyBatch(CandidateSource& source, const std::vector<Candidate>& batch) {
  if (batch.empty()) return Status::Ok();
  for (const Candidate& candidate : batch) Begins(candidate);
  ATTUNE_ASSIGN_OR_RETURN(const std::vector<Qualified> results,
                          qualifier_.Qualify(batch, TimeFor(SearchDeadlineNs())));
  for (const Qualified& result : results) Learn(source, result);
  progress_.considered -= static_cast<int64_t>(batch.size() - results.size());
  return Status::Ok();
}

QualifyTime TuningSession::TimeFor(int64_t begin_by_ns) const {
  const ProblemTime time{end_ns_, options_.per_problem_ns, Earlier(run_end_ns_, longest_end_ns_)};
  return TimeToQualify(time, begin_by_ns, !passed_.empty());
}

void TuningSession::Begins(const Candidate& candidate) {
  unfinished_.insert(candidate);
  ++progress_.considered;
  Report(Stage::kQualify);
}

void TuningSession::NoteFailure(const Failure& failure) {
  if (report_.failures.empty()) report_.first_failure = failure.message;
  ++report_.failures[failure.kind];
}

void TuningSession::Learn(CandidateSource& source, const Qualified& result) {
  unfinished_.erase(AskedOf(result));
  const Trial& trial = result.trial;
  if (const Failure* failure = trial.failure()) {
    NoteFailure(*failure);
    ++progress_.failed;
    Tell(source, AskedOf(result), {std::nullopt, CostNs(result)});
    return;
  }
  ++progress_.qualified;
  std::replace(defaults_.begin(), defaults_.end(), AskedOf(result), trial.candidate);
  Tell(source, AskedOf(result), {result.quick_ns, CostNs(result)});
  if (pruning_.has_value()) pruning_->NoteMeasured(result.quick_ns);
  // Searches may find the incumbent, or one candidate twice.
  const bool is_known = std::any_of(passed_.begin(), passed_.end(), [&](const Runner& runner) {
    return runner.candidate == trial.candidate;
  });
  if (!is_known) passed_.push_back(RunnerOf(result));
  Report(Stage::kQualify);
}

TuningSession::Runner TuningSession::RunnerOf(const Qualified& qualified) const {
  const Trial& trial = qualified.trial;
  Runner runner;
  runner.candidate = trial.candidate;
  runner.quick_ns = qualified.quick_ns;
  // The time to displace the caches is still unknown; a race measures it.
  runner.launches = options_.cache == CacheState::kCold ? 1 : LaunchesPerBlock(qualified.quick_ns);
  runner.cost = EstimateCost(qualified.quick_ns, trial.load_ns);
  runner.qualified = trial;
  return runner;
}

// Leaves enough time to decide among the best candidates.
int64_t TuningSession::SearchDeadlineNs() const {
  const int64_t left_ns = std::max<int64_t>(end_ns_ - search_begin_ns_, 0);
  const auto after = [&](double share) {
    return search_begin_ns_ + static_cast<int64_t>(share * static_cast<double>(left_ns));
  };
  return std::clamp(end_ns_ - DecisionNs(left_ns), after(kMinSearchShare), after(kMaxSearchShare));
}

// Half of `available_ns` until two candidates have passed.
int64_t TuningSession::DecisionNs(int64_t available_ns) const {
  if (passed_.size() < 2) return available_ns / 2;
  const auto best =
      std::min_element(passed_.begin(), passed_.end(),
                       [](const Runner& a, const Runner& b) { return a.quick_ns < b.quick_ns; });
  return attune::DecisionNs(passed_.front().cost, best->cost, available_ns);
}

}  // namespace attune
