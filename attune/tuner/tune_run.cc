#include "attune/tuner/tune_run.h"

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "attune/tuner/past_tuning.h"
#include "attune/tuner/session_notes.h"

namespace attune {
namespace {

// Problems in a row that cannot be evaluated are the machine's fault, not theirs. A run that
// measures again starts with those that were never measured, some of which may never be: they prove
// nothing about the others.
class Patience {
 public:
  bool IsOver(bool was_measured) const { return failures_[was_measured] >= kMostFailures; }
  void NoteFailure(bool was_measured) { ++failures_[was_measured]; }
  void NoteSuccess() { failures_ = {}; }

 private:
  static constexpr int kMostFailures = 3;
  std::array<int, 2> failures_ = {};  // In a row: never measured, and others.
};

// True if a run leaves a problem as it is.
bool IsTuned(const PastTuning& past, const Tuner& tuner, const RunOptions& options) {
  return !options.retune && past.Suffices(tuner.options().per_problem_ns);
}

// One pass over the list; counts, times and reports.
class Run {
 public:
  using Listener = std::function<void(const RunProgress&)>;

  Run(Tuner& tuner, const RunOptions& options, const Listener& listener, size_t problem_count)
      : tuner_(tuner),
        options_(options),
        listener_(listener),
        begin_ns_(tuner.parts().clock->NowNs()) {
    progress_.problem_count = problem_count;
  }

  bool MayBegin(const PastTuning& past) const {
    if (options_.stop_requested && options_.stop_requested()) return false;
    if (patience_.IsOver(WasMeasured(past))) return false;
    return options_.budget_ns <= 0 || ElapsedNs() < options_.budget_ns;
  }

  // Nothing while another process tunes it. Problems that another process tuned since the run began
  // are not measured again.
  Result<std::optional<ProblemOutcome>> TuneInTurn(const TaggedProblem& tagged,
                                                   const PastTuning& before) {
    std::unique_ptr<ProblemTurns::Turn> turn;
    if (options_.turns != nullptr) {
      ATTUNE_ASSIGN_OR_RETURN(turn, options_.turns->TryTake(tagged.problem));
      if (turn == nullptr) return std::optional<ProblemOutcome>();
    }
    ATTUNE_ASSIGN_OR_RETURN(const PastTuning past, FindPastTuning(tuner_, tagged.problem));
    ProblemOutcome outcome;
    outcome.problem = tagged.problem;
    const bool was_tuned_meanwhile = past.newest_unix_ns > before.newest_unix_ns &&
                                     past.Suffices(tuner_.options().per_problem_ns);
    if (!was_tuned_meanwhile && !IsTuned(past, tuner_, options_)) {
      ATTUNE_ASSIGN_OR_RETURN(outcome, TuneOne(tagged.problem, past));
    } else {
      outcome.kind = ProblemOutcome::Kind::kAlreadyTuned;
      outcome.message = "another process tuned it meanwhile";
    }
    TellFinished(outcome);
    return std::optional<ProblemOutcome>(std::move(outcome));
  }

  Result<ProblemOutcome> TuneOne(const Problem& problem, const PastTuning& past) {
    progress_.problem = &problem;
    TuneBounds bounds;
    bounds.stop_requested = options_.stop_requested;
    if (options_.budget_ns > 0) bounds.end_ns = begin_ns_ + options_.budget_ns;
    auto report = tuner_.Tune(
        problem,
        [this](const TuneProgress& tune) {
          progress_.tune = tune;
          Tell();
        },
        bounds);
    ProblemOutcome outcome;
    outcome.problem = problem;
    if (report.ok()) {
      outcome.report = std::move(*report);
      outcome.kind = outcome.report.choice.has_value() ? ProblemOutcome::Kind::kTuned
                                                       : ProblemOutcome::Kind::kFailed;
      if (!outcome.report.choice.has_value()) {
        outcome.message = NothingTimedNote(outcome.report);
      } else if (!options_.retune && past.is_decided && past.tried_fewer) {
        outcome.message = "measured again, because fewer candidates were tried before";
      } else if (!options_.retune && past.is_decided) {
        outcome.message = fmt::format("measured again, because it had only {:.3g} s before",
                                      static_cast<double>(past.most_time_ns) / 1e9);
      }
      busy_ns_ += outcome.report.busy_ns;
      device_busy_ns_ += outcome.report.device_busy_ns;
      // If nothing could be timed, the device or the problem may be the cause.
      if (outcome.report.choice.has_value()) patience_.NoteSuccess();
    } else if (EndsTheRun(report.error())) {
      return report.error();
    } else if (report.error().code() == StatusCode::kDeadlineExceeded) {
      outcome.message = report.error().message();
      const bool was_stopped = options_.stop_requested && options_.stop_requested();
      const bool waited = progress_.tune.stage == TuneProgress::Stage::kWait;
      outcome.exceeds_run = busy_ns_ == 0 && !was_stopped && !waited;
    } else {
      outcome.kind = report.error().code() == StatusCode::kUnsupported
                         ? ProblemOutcome::Kind::kUnsupported
                         : ProblemOutcome::Kind::kFailed;
      outcome.message = report.error().message();
      if (outcome.kind == ProblemOutcome::Kind::kFailed) patience_.NoteFailure(WasMeasured(past));
    }
    return outcome;
  }

  void TellFinished(const ProblemOutcome& outcome) {
    ++progress_.problem_index;
    progress_.finished = &outcome;
    Tell();
    progress_.finished = nullptr;
    progress_.tune = TuneProgress{};
  }

  int64_t ElapsedNs() const { return tuner_.parts().clock->NowNs() - begin_ns_; }
  int64_t busy_ns() const { return busy_ns_; }
  int64_t device_busy_ns() const { return device_busy_ns_; }

 private:
  static bool WasMeasured(const PastTuning& past) { return past.newest_unix_ns > 0; }

  void Tell() {
    if (!listener_) return;
    progress_.elapsed_ns = ElapsedNs();
    const size_t done = progress_.problem_index;
    if (done > 0) {
      const int64_t mean_ns = progress_.elapsed_ns / static_cast<int64_t>(done);
      progress_.eta_ns = mean_ns * static_cast<int64_t>(progress_.problem_count - done);
    } else {
      progress_.eta_ns =
          tuner_.options().per_problem_ns * static_cast<int64_t>(progress_.problem_count);
      // A problem that exceeds its estimate predicts nothing: the ETA stays 0.
      progress_.eta_ns = std::max<int64_t>(progress_.eta_ns - progress_.elapsed_ns, 0);
    }
    if (options_.budget_ns > 0) {
      progress_.eta_ns =
          std::clamp(options_.budget_ns - progress_.elapsed_ns, int64_t{0}, progress_.eta_ns);
    }
    listener_(progress_);
  }

  Tuner& tuner_;
  const RunOptions& options_;
  const Listener& listener_;
  const int64_t begin_ns_;
  RunProgress progress_;
  int64_t busy_ns_ = 0;
  int64_t device_busy_ns_ = 0;
  Patience patience_;
};

}  // namespace

bool EndsTheRun(const Status& status) {
  switch (status.code()) {
    case StatusCode::kResourceExhausted:
    case StatusCode::kUnavailable:
    case StatusCode::kDataLoss:
    case StatusCode::kFailedPrecondition:
      return true;
    default:
      return false;
  }
}

std::string_view Name(ProblemOutcome::Kind kind) {
  switch (kind) {
    case ProblemOutcome::Kind::kTuned:
      return "tuned";
    case ProblemOutcome::Kind::kAlreadyTuned:
      return "already_tuned";
    case ProblemOutcome::Kind::kUnsupported:
      return "unsupported";
    case ProblemOutcome::Kind::kFailed:
      return "failed";
    case ProblemOutcome::Kind::kNotReached:
      return "not_reached";
  }
  return "unknown";
}

namespace {

// A list with the past tuning of each of its problems.
struct Backlog {
  std::span<const TaggedProblem> problems;
  std::vector<PastTuning> past;
};

Result<Backlog> BacklogOf(const Tuner& tuner, std::span<const TaggedProblem> problems) {
  Backlog backlog{problems, {}};
  for (const TaggedProblem& tagged : problems) {
    ATTUNE_ASSIGN_OR_RETURN(const PastTuning past, FindPastTuning(tuner, tagged.problem));
    backlog.past.push_back(past);
  }
  return backlog;
}

// Positions of the list, in tuning order. If everything is measured again, the next run continues
// after one that ended early.
std::vector<size_t> OrderOf(const Backlog& backlog, const RunOptions& options) {
  if (options.retune) return LongestAgoFirst(backlog.past);
  std::vector<size_t> order(backlog.problems.size());
  std::iota(order.begin(), order.end(), size_t{0});
  return order;
}

// Problems that other processes were tuning when it was their turn, by position in the list.
Status TuneLeftovers(Run& run, const Backlog& backlog, std::vector<size_t> left,
                     ProblemTurns& turns, std::vector<ProblemOutcome>& outcomes) {
  const auto may_begin = [&](size_t i) { return run.MayBegin(backlog.past[i]); };
  while (std::any_of(left.begin(), left.end(), may_begin)) {
    std::vector<size_t> still_left;
    for (const size_t i : left) {
      if (!may_begin(i)) continue;
      ATTUNE_ASSIGN_OR_RETURN(auto outcome, run.TuneInTurn(backlog.problems[i], backlog.past[i]));
      if (outcome.has_value()) {
        outcomes[i] = std::move(*outcome);
      } else {
        still_left.push_back(i);
      }
    }
    if (still_left.size() == left.size()) turns.Rest();
    left = std::move(still_left);
  }
  return Status::Ok();
}

}  // namespace

Result<RunSummary> TuneAll(Tuner& tuner, std::span<const TaggedProblem> problems,
                           const RunOptions& options,
                           const std::function<void(const RunProgress&)>& listener) {
  ATTUNE_ASSIGN_OR_RETURN(const Backlog backlog, BacklogOf(tuner, problems));
  const auto is_tuned = [&](size_t i) { return IsTuned(backlog.past[i], tuner, options); };
  const auto is_open = [&](size_t i) {
    return !is_tuned(i) && tuner.FindParticipants(problems[i].problem).ok();
  };
  const std::vector<size_t> order = OrderOf(backlog, options);
  const auto open_count = std::count_if(order.begin(), order.end(), is_open);
  Run run(tuner, options, listener, static_cast<size_t>(open_count));
  RunSummary summary;
  summary.outcomes.resize(problems.size());
  std::vector<size_t> left;
  for (const size_t i : order) {
    ProblemOutcome& outcome = summary.outcomes[i];
    outcome.problem = problems[i].problem;
    if (is_tuned(i)) {
      outcome.kind = ProblemOutcome::Kind::kAlreadyTuned;
    } else if (!is_open(i)) {
      ATTUNE_ASSIGN_OR_RETURN(outcome, run.TuneOne(problems[i].problem, backlog.past[i]));
    } else if (run.MayBegin(backlog.past[i])) {
      ATTUNE_ASSIGN_OR_RETURN(auto tried, run.TuneInTurn(problems[i], backlog.past[i]));
      if (tried.has_value()) {
        outcome = std::move(*tried);
      } else {
        outcome.message = "another process tunes it";
        left.push_back(i);
      }
    }
  }
  if (options.turns != nullptr) {
    ATTUNE_RETURN_IF_ERROR(
        TuneLeftovers(run, backlog, std::move(left), *options.turns, summary.outcomes));
  }
  summary.wall_ns = run.ElapsedNs();
  summary.busy_ns = run.busy_ns();
  summary.device_busy_ns = run.device_busy_ns();
  return summary;
}

}  // namespace attune
