#include "attune/tuner/tuning_session.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "attune/base/fingerprint.h"
#include "attune/problem/own_kernel.h"
#include "attune/tuner/awaited_turn.h"
#include "attune/tuner/device_listing.h"
#include "attune/tuner/final_conditions.h"
#include "attune/tuner/new_set.h"
#include "attune/tuner/quarantine.h"
#include "attune/tuner/reference_bound.h"
#include "attune/tuner/session_notes.h"

namespace attune {
namespace {

// Largest share of screening and smallest share of the final in the time of a problem.
constexpr double kScreenShare = 0.3;
constexpr double kMinFinalShare = 0.2;
// After a search that overran, the decision still gets at most this much.
constexpr double kMaxLateDecisionShare = 0.5;
constexpr size_t kFinalists = 3;
// A reference may take this long, however little time is left.
constexpr int64_t kShortReferenceNs = 1'000'000'000;
// 0 means no limit, so an expired limit becomes this.
constexpr int64_t kLeastReferenceNs = 1;

template <class Runners>
std::vector<TimingCost> CostsOf(const Runners& runners) {
  std::vector<TimingCost> costs;
  for (const auto& runner : runners) costs.push_back(runner.cost);
  return costs;
}

}  // namespace

TuningSession::TuningSession(const TunerParts& parts, const TuneOptions& options,
                             const Problem& problem, const Tuner::Listener& listener)
    : parts_(parts),
      options_(options),
      problem_(problem),
      listener_(listener),
      qualifier_(*parts.evaluator, *parts.store) {}

void TuningSession::Challenge(Choice standing) { standing_ = std::move(standing); }

void TuningSession::Include(Candidate served) { served_ = std::move(served); }

void TuningSession::BeginWith(TimesOfPlaces elsewhere) { elsewhere_ = std::move(elsewhere); }

Result<TuneReport> TuningSession::Run(const std::vector<const Solver*>& solvers,
                                      const TuneBounds& bounds) {
  begin_ns_ = parts_.clock->NowNs();
  run_end_ns_ = bounds.end_ns;
  if (bounds.longest_ns > 0) longest_end_ns_ = begin_ns_ + bounds.longest_ns;
  end_ns_ = begin_ns_ + options_.per_problem_ns;
  Report(Stage::kEnumerate);
  BeginWithModel();
  const CandidateSource::Options source_options = {
      options_.searcher, options_.seed, options_.max_candidates,
      // Pruned candidates cost nothing.
      options_.searcher != "exhaustive" && options_.prune.top == 0, options_.only_configs,
      std::move(elsewhere_)};
  ATTUNE_ASSIGN_OR_RETURN(
      CandidateSource source,
      CandidateSource::Create(problem_, parts_.target, solvers, source_options, &report_.notes));
  if (!options_.retry_quarantined) {
    ATTUNE_ASSIGN_OR_RETURN(
        quarantined_, FindQuarantined(*parts_.store, problem_, parts_.target, parts_.environment,
                                      MatchPolicy::Default()));
    // An incumbent that has crashed since is dropped.
    if (standing_.has_value() && quarantined_.contains(standing_->candidate)) standing_.reset();
  }
  AskModel(source);
  ATTUNE_RETURN_IF_ERROR(Prepare(solvers, bounds, source));
  report_.search_ns += parts_.clock->NowNs();
  ATTUNE_RETURN_IF_ERROR(TimeAll(bounds));
  ATTUNE_RETURN_IF_ERROR(Conclude());
  return report_;
}

Result<std::unique_ptr<MachineTurns::Turn>> TuningSession::TakeTurn(MachineUse use,
                                                                    const TuneBounds& bounds) {
  ATTUNE_ASSIGN_OR_RETURN(AwaitedTurn awaited,
                          AwaitTurn(parts_, use, bounds, [this] { Report(Stage::kWait); }));
  report_.waited_ns += awaited.waited_ns;
  search_begin_ns_ += awaited.waited_ns;
  end_ns_ += awaited.waited_ns;
  if (longest_end_ns_ > 0) longest_end_ns_ += awaited.waited_ns;
  if (!awaited.note.empty()) report_.notes.push_back(std::move(awaited.note));
  return std::move(awaited.turn);
}

Status TuningSession::Prepare(const std::vector<const Solver*>& solvers, const TuneBounds& bounds,
                              CandidateSource& source) {
  ATTUNE_ASSIGN_OR_RETURN(const auto turn, TakeTurn(MachineUse::kPrepare, bounds));
  ATTUNE_RETURN_IF_ERROR(MakeReference(bounds));
  report_.search_ns = -parts_.clock->NowNs();  // Its end is added to it.
  ATTUNE_RETURN_IF_ERROR(BeginSet());
  search_begin_ns_ = parts_.clock->NowNs() - searched_ns_;
  ATTUNE_RETURN_IF_ERROR(QualifyDefaults(source));
  const bool is_late = parts_.clock->NowNs() >= SearchDeadlineNs();
  if (is_late && !qualifier_.HasMore()) return Status::Ok();
  AddListed(solvers,
            {.limit = options_.max_listed,
             .exhaustive = options_.searcher == "exhaustive",
             .per_problem_ns = options_.per_problem_ns,
             .clock = parts_.clock},
            *parts_.evaluator, source, report_.notes);
  search_begin_ns_ = parts_.clock->NowNs() - searched_ns_;
  return is_late ? RecallOthers(source) : QualifyOthers(source);
}

Status TuningSession::TimeAll(const TuneBounds& bounds) {
  if (passed_.empty() && report_.failures.empty() && !unfinished_.empty()) {
    return NobodyWasReady(parts_.clock->NowNs() - begin_ns_);
  }
  if (passed_.empty()) return Status::Ok();
  ATTUNE_ASSIGN_OR_RETURN(const auto turn, TakeTurn(MachineUse::kTime, bounds));
  ATTUNE_ASSIGN_OR_RETURN(const std::vector<Runner> finalists, Screen(SelectField()));
  return RunFinale(finalists);
}

Status TuningSession::MakeReference(const TuneBounds& bounds) {
  Report(Stage::kReference);
  const int64_t now_ns = parts_.clock->NowNs();
  const int64_t allowed_ns =
      bounds.end_ns > 0
          ? std::max({bounds.end_ns - now_ns, options_.per_problem_ns, kShortReferenceNs})
          : 0;
  const int64_t left_ns =
      longest_end_ns_ > 0 ? std::max(longest_end_ns_ - now_ns, kLeastReferenceNs) : 0;
  ReferenceBound bound(now_ns, Earlier(allowed_ns, left_ns));
  bool fits = true;
  ReferenceTerms terms;
  terms.go_on = [&](double done) {
    progress_.reference_share = done;
    Report(Stage::kReference);
    fits = bound.Admits(done, parts_.clock->NowNs());
    return fits && !(bounds.stop_requested && bounds.stop_requested());
  };
  const Status made =
      EvaluationStatus(parts_.evaluator->Begin(problem_, DataSeed(), options_.terms, terms));
  for (std::string& note : parts_.evaluator->TakeNotes()) {
    report_.notes.push_back(std::move(note));
  }
  return fits || made.code() != StatusCode::kDeadlineExceeded ? made : bound.Exceeded();
}

uint64_t TuningSession::DataSeed() const {
  // Fresh data for each problem, the same again in a repeated run.
  return options_.seed ^ KeyOf(problem_).low;
}

Status TuningSession::BeginSet() {
  const MeasurementSet set = NewSet(problem_, parts_, options_);
  report_.set_id = set.id;
  CutOff past;
  if (options_.goes_on) {
    ATTUNE_ASSIGN_OR_RETURN(past, FindCutOff(*parts_.store, set));
  }
  LeaveOut(quarantined_, options_.retry_quarantined, past);
  // A search that overran its share, or slept, does not shorten the rest of the time.
  searched_ns_ = std::min(past.searched_ns, ShareNs(kMaxSearchShare));
  end_ns_ -= searched_ns_;
  qualifier_.Begin(set.id, std::move(past));
  return parts_.store->BeginSet(set);
}

Result<std::vector<TuningSession::Runner>> TuningSession::Screen(std::vector<Runner> field) {
  // A search that overran takes no time from the decision.
  const int64_t decision_ns = DecisionNs(options_.per_problem_ns);
  end_ns_ = std::max(end_ns_,
                     parts_.clock->NowNs() + std::min(decision_ns, ShareNs(kMaxLateDecisionShare)));
  while (!field.empty()) {
    const TimePlan plan = PlanTime(CostsOf(field), kFinalists, end_ns_ - parts_.clock->NowNs(),
                                   ShareNs(kScreenShare));
    std::vector<Runner> entrants(field.begin(), field.begin() + plan.entrants + 1);
    progress_.timed = static_cast<int64_t>(entrants.size());
    report_.timed = progress_.timed;
    if (!plan.has_race) return entrants;
    ATTUNE_ASSIGN_OR_RETURN(Heat heat, RunHeats(entrants, plan.race_ns));
    if (!heat.baseline_failed) {
      return Affordable(FinalistsOf(std::move(heat), entrants));
    }
    report_.notes.push_back(LostBaselineNote(field.front().candidate));
    field.erase(field.begin());
  }
  return std::vector<Runner>();
}

std::vector<TuningSession::Runner> TuningSession::FinalistsOf(
    Heat heat, const std::vector<Runner>& entrants) const {
  std::vector<Runner> finalists = {std::move(heat.baseline)};
  finalists.insert(finalists.end(), std::make_move_iterator(heat.finalists.begin()),
                   std::make_move_iterator(heat.finalists.end()));
  const auto is_standing = [this](const Runner& runner) { return IsStanding(runner.candidate); };
  const auto found = std::find_if(finalists.begin(), finalists.end(), is_standing);
  if (found != finalists.end()) {
    if (found != finalists.begin()) std::rotate(finalists.begin() + 1, found, found + 1);
    return finalists;
  }
  const auto entered = std::find_if(entrants.begin(), entrants.end(), is_standing);
  if (entered == entrants.end() || standing_failed_) return finalists;
  finalists.insert(finalists.begin() + 1, *entered);
  if (finalists.size() > kFinalists + 1) finalists.pop_back();
  return finalists;
}

std::vector<TuningSession::Runner> TuningSession::Affordable(std::vector<Runner> runners) const {
  const int64_t left_ns = end_ns_ - parts_.clock->NowNs();
  runners.resize(AffordableFinalists(CostsOf(runners), kFinalists, left_ns) + 1);
  return runners;
}

Result<TuningSession::Heat> TuningSession::RunHeats(const std::vector<Runner>& field,
                                                    int64_t budget_ns) {
  std::vector<Runner> entrants = field;
  while (entrants.size() > kMaxHeat) {
    const size_t heats = (entrants.size() - 2) / (kMaxHeat - 1) + 1;
    std::vector<Runner> next = {entrants.front()};
    for (size_t begin = 1; begin < entrants.size(); begin += kMaxHeat - 1) {
      const size_t end = std::min(entrants.size(), begin + kMaxHeat - 1);
      std::vector<Runner> group = {entrants.front()};
      group.insert(group.end(), entrants.begin() + static_cast<std::ptrdiff_t>(begin),
                   entrants.begin() + static_cast<std::ptrdiff_t>(end));
      ATTUNE_ASSIGN_OR_RETURN(Heat heat, RunHeat(group, budget_ns / static_cast<int64_t>(heats)));
      if (heat.baseline_failed) return heat;
      next.insert(next.end(), heat.finalists.begin(), heat.finalists.end());
    }
    entrants = std::move(next);
  }
  return RunHeat(entrants, budget_ns);
}

Result<TuningSession::Heat> TuningSession::RunHeat(const std::vector<Runner>& entrants,
                                                   int64_t budget_ns) {
  Report(Stage::kScreen);
  std::vector<Candidate> candidates;
  for (const Runner& runner : entrants) candidates.push_back(runner.candidate);
  auto timer = parts_.evaluator->StartTiming(candidates);
  if (!timer.ok()) return EvaluationStatus(timer.error());
  RaceOptions race_options;
  race_options.seed = options_.seed;
  race_options.cache = options_.cache;
  race_options.budget_ns = budget_ns;
  race_options.limits = options_.limits;
  race_options.margin = options_.select.margin;
  race_options.confidence = options_.select.confidence;
  race_options.finalists = kFinalists;
  const Entrants everybody{entrants.size(), 0};
  const RaceResult race = Race(**timer, everybody, race_options, *parts_.clock);
  timer->reset();  // Its processes end while the trials are stored.
  report_.stop_reason = std::string(Name(race.reason));
  std::vector<Trial> trials;
  const auto as_seen = [&](size_t i) {
    Runner runner = entrants[i];
    runner.launches = race.entries[i].launches;
    runner.cost.block_ns = race.entries[i].block_wall_ns;
    return runner;
  };
  for (size_t i = 0; i < entrants.size(); ++i) {
    const RaceEntry& entry = race.entries[i];
    if (std::holds_alternative<std::monostate>(entry.outcome)) continue;
    if (const Failure* failure = entry.failure()) {
      NoteFailure(*failure);
      if (IsStanding(entrants[i].candidate)) standing_failed_ = true;
    }
    const bool is_baseline = i == 0 && entry.failure() == nullptr;
    trials.push_back(TrialOf(entrants[i], TrialRole::kScreen, is_baseline, entry));
  }
  ATTUNE_RETURN_IF_ERROR(parts_.store->Append(report_.set_id, trials));
  Heat heat;
  heat.baseline = as_seen(0);
  heat.baseline_failed = race.entries[0].failure() != nullptr;
  for (const Finalist& finalist :
       SelectFinalists(race, everybody, options_.select.margin, kFinalists)) {
    heat.finalists.push_back(as_seen(finalist.index));
  }
  return heat;
}

Status TuningSession::RunFinale(std::vector<Runner> finalists) {
  while (!finalists.empty()) {
    ATTUNE_ASSIGN_OR_RETURN(const bool decided, TryFinale(finalists));
    if (decided) break;
    report_.notes.push_back(LostBaselineNote(finalists.front().candidate));
    finalists.erase(finalists.begin());
  }
  return Status::Ok();
}

// False if the baseline failed.
Result<bool> TuningSession::TryFinale(const std::vector<Runner>& finalists) {
  Report(Stage::kFinal);
  std::vector<Candidate> candidates;
  for (const Runner& runner : finalists) candidates.push_back(runner.candidate);
  auto timer = parts_.evaluator->StartTiming(candidates);
  if (!timer.ok()) return EvaluationStatus(timer.error());
  SetConditions conditions;
  conditions.before = AskConditions(**timer, report_);
  FinalOptions final_options;
  final_options.seed = options_.seed + 1;
  final_options.cache = options_.cache;
  // Even if earlier stages overran, the final reaches its first look if that is cheap.
  const int64_t first_look_ns = FinalNs(CostsOf(finalists), finalists.size() - 1, kFirstLookRounds);
  final_options.budget_ns =
      std::max(end_ns_ - parts_.clock->NowNs(), std::min(first_look_ns, ShareNs(kMinFinalShare)));
  final_options.limits = options_.limits;
  final_options.margin = options_.select.margin;
  final_options.confidence = options_.select.confidence;
  std::vector<Finalist> challengers;
  for (size_t i = 1; i < finalists.size(); ++i) challengers.push_back({i, finalists[i].launches});
  const FinalResult result =
      RunFinal(**timer, {0, finalists[0].launches}, challengers, final_options, *parts_.clock);
  conditions.after = AskConditions(**timer, report_);
  timer->reset();
  std::vector<Trial> trials = {
      TrialOf(finalists[0], TrialRole::kFinal, true, result.default_entry)};
  for (size_t i = 1; i < finalists.size(); ++i) {
    trials.push_back(TrialOf(finalists[i], TrialRole::kFinal, false, result.entries[i - 1]));
  }
  const bool decided = result.default_entry.failure() == nullptr;
  // In a final without its baseline only the failure counts: the others are timed again against the
  // next one.
  if (!decided) trials.resize(1);
  std::erase_if(trials, [](const Trial& trial) {
    return std::holds_alternative<std::monostate>(trial.outcome);
  });
  for (const Trial& trial : trials) {
    if (const Failure* failure = trial.failure()) NoteFailure(*failure);
  }
  // A failed default is no baseline.
  if (!decided && !trials.empty()) trials[0].is_default = false;
  ATTUNE_RETURN_IF_ERROR(parts_.store->Append(report_.set_id, trials));
  if (decided) ATTUNE_RETURN_IF_ERROR(KeepConditions(conditions, *parts_.store, report_));
  return decided;
}

Status TuningSession::Conclude() {
  Report(Stage::kRecord);
  ATTUNE_RETURN_IF_ERROR(RecordPruned());
  ATTUNE_RETURN_IF_ERROR(Decide());
  // Programs compile user kernels from source, so these need no final code.
  if (report_.choice.has_value() && !IsOwnKernel(problem_)) {
    parts_.evaluator->BuildForUse(report_.choice->candidate);
  }
  report_.considered = progress_.considered;
  report_.taken_over = qualifier_.recalled_count();
  if (report_.taken_over > 0) {
    report_.notes.push_back(TakenOverNote(report_.taken_over, searched_ns_));
  }
  report_.qualified = progress_.qualified;
  const int64_t now_ns = parts_.clock->NowNs();
  report_.wall_ns = now_ns - begin_ns_;
  BusyTime busy = parts_.evaluator->TakeBusyTime();
  const Status noted = parts_.store->NoteTimeline(
      report_.set_id, MakeTimeline(stages_.Spans(begin_ns_, now_ns), busy, begin_ns_));
  if (!noted.ok()) report_.notes.push_back(LostTimelineNote(noted));
  report_.device_busy_ns = UnionLengthNs(std::move(busy.of_device));
  report_.busy_ns = UnionLengthNs(std::move(busy.intervals));
  return Status::Ok();
}

Status TuningSession::Decide() {
  RecordQuery query;
  query.problem = problem_;
  query.backend = parts_.target.backend;
  bool stays = false;
  ATTUNE_RETURN_IF_ERROR(parts_.store->Visit(query, [&](const RecordedSet& recorded) {
    if (recorded.set.id != report_.set_id) return Status::Ok();
    report_.choice = SelectWithin(recorded, options_.select);
    // Without a timed candidate the incumbent needs no comparison.
    stays = standing_.has_value() && report_.choice.has_value() &&
            !Replaces(recorded, *standing_, options_.select);
    return Status::Ok();
  }));
  report_.is_steady = !report_.choice.has_value() || WasSteady(*report_.choice);
  if (!report_.is_steady) report_.notes.push_back(UnsteadyNote(*report_.choice));
  if (!stays) return parts_.store->FinishSet(report_.set_id);
  report_.choice = standing_;
  report_.notes.push_back(StandsNote(*standing_));
  return Status::Ok();
}

Trial TuningSession::TrialOf(const Runner& runner, TrialRole role, bool is_default,
                             const RaceEntry& entry) const {
  Trial trial = runner.qualified;
  trial.role = role;
  trial.is_default = is_default;
  if (const Failure* failure = entry.failure()) trial.outcome = *failure;
  if (const Measurement* measurement = entry.measurement()) trial.outcome = *measurement;
  if (trial.failure() != nullptr) trial.capture_failure.clear();
  return trial;
}

void TuningSession::Report(Stage stage) {
  progress_.stage = stage;
  stages_.Enter(stage, parts_.clock->NowNs());
  if (listener_) listener_(progress_);
}

int64_t TuningSession::ShareNs(double share) const {
  return static_cast<int64_t>(share * static_cast<double>(options_.per_problem_ns));
}

}  // namespace attune
