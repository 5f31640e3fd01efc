#include "attune/tuner/objective_session.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "attune/base/random.h"
#include "attune/measure/statistics.h"
#include "attune/problem/problem.h"
#include "attune/record/record_store.h"
#include "attune/tuner/awaited_turn.h"
#include "attune/tuner/new_set.h"
#include "attune/tuner/qualify_time.h"
#include "attune/tuner/quarantine.h"
#include "attune/tuner/session_notes.h"
#include "attune/tuner/time_plan.h"

namespace attune {
namespace {

// The search's share of the time of a problem; the rest is for the final.
constexpr double kSearchShare = 0.6;
constexpr int kSearchBlocks = 3;
constexpr size_t kMostFinalists = 8;
constexpr int64_t kFewestRounds = 3;
constexpr int64_t kMostRounds = 30;

// At most `count` of `sorted`, evenly spread, both ends among them.
std::vector<size_t> Thinned(const std::vector<size_t>& sorted, size_t count) {
  if (sorted.size() <= count) return sorted;
  std::vector<size_t> some;
  for (size_t i = 0; i < count; ++i) some.push_back(sorted[i * (sorted.size() - 1) / (count - 1)]);
  return some;
}

FigureValue FigureOf(const std::vector<double>& samples, double confidence) {
  const Interval interval = MedianInterval(samples, confidence);
  return {Median(samples), interval.low, interval.high, interval.confidence,
          static_cast<int64_t>(samples.size())};
}

}  // namespace

ObjectiveSession::ObjectiveSession(const Parts& parts, const Tuner::Listener& listener)
    : parts_(parts.tuner),
      options_(parts.options),
      figures_(parts.figures),
      problem_(parts.problem),
      sought_(parts.sought),
      listener_(listener),
      qualifier_(*parts.tuner.evaluator, *parts.tuner.store) {}

Result<ObjectiveReport> ObjectiveSession::Run(const std::vector<const Solver*>& solvers,
                                              const TuneBounds& bounds) {
  begin_ns_ = parts_.clock->NowNs();
  end_ns_ = begin_ns_ + options_.per_problem_ns;
  Report(Stage::kEnumerate);
  if (!TimeIsFirst()) standing_.reset();
  const CandidateSource::Options search = {.searcher = options_.searcher,
                                           .seed = options_.seed,
                                           .max_candidates = options_.max_candidates,
                                           .drop_hopeless = options_.searcher != "exhaustive"};
  ATTUNE_ASSIGN_OR_RETURN(FrontSource source,
                          FrontSource::Create(problem_, parts_.target, solvers,
                                              {search, sought_.objectives}, &report_.notes));
  if (!options_.retry_quarantined) {
    ATTUNE_ASSIGN_OR_RETURN(
        quarantined_, FindQuarantined(*parts_.store, problem_, parts_.target, parts_.environment,
                                      MatchPolicy::Default()));
  }
  ATTUNE_RETURN_IF_ERROR(Prepare(bounds));
  ATTUNE_RETURN_IF_ERROR(Search(source, bounds));
  if (!measured_.empty()) ATTUNE_RETURN_IF_ERROR(RunFinal(bounds));
  Report(Stage::kRecord);
  if (TimeIsFirst()) ATTUNE_RETURN_IF_ERROR(Decide());
  report_.considered = progress_.considered;
  report_.taken_over = qualifier_.recalled_count();
  report_.qualified = progress_.qualified;
  report_.wall_ns = parts_.clock->NowNs() - begin_ns_;
  return report_;
}

Result<std::unique_ptr<MachineTurns::Turn>> ObjectiveSession::TakeTurn(MachineUse use,
                                                                       const TuneBounds& bounds) {
  ATTUNE_ASSIGN_OR_RETURN(AwaitedTurn awaited,
                          AwaitTurn(parts_, use, bounds, [this] { Report(Stage::kWait); }));
  // Waiting does not count in the time of the problem.
  search_end_ns_ += awaited.waited_ns;
  end_ns_ += awaited.waited_ns;
  if (!awaited.note.empty()) report_.notes.push_back(std::move(awaited.note));
  return std::move(awaited.turn);
}

Status ObjectiveSession::Prepare(const TuneBounds& bounds) {
  ATTUNE_ASSIGN_OR_RETURN(const auto turn, TakeTurn(MachineUse::kPrepare, bounds));
  ReferenceTerms terms;
  terms.go_on = [&](double done) {
    progress_.reference_share = done;
    Report(Stage::kReference);
    return !(bounds.stop_requested && bounds.stop_requested());
  };
  const uint64_t data_seed = options_.seed ^ KeyOf(problem_).low;
  ATTUNE_RETURN_IF_ERROR(
      EvaluationStatus(parts_.evaluator->Begin(problem_, data_seed, options_.terms, terms)));
  for (std::string& note : parts_.evaluator->TakeNotes()) report_.notes.push_back(std::move(note));
  {
    const auto timer = parts_.evaluator->StartTiming({});
    if (!timer.ok()) return EvaluationStatus(timer.error());
    ATTUNE_RETURN_IF_ERROR(EvaluationStatus(CheckMeter(**timer)));
  }
  return BeginSet();
}

Status ObjectiveSession::BeginSet() {
  MeasurementSet set = NewSet(problem_, parts_, options_);
  set.environment[std::string(kObjectiveTerm)] = Text(sought_.objectives);
  report_.set_id = set.id;
  const int64_t now_ns = parts_.clock->NowNs();
  const auto search_ns = static_cast<int64_t>(kSearchShare * static_cast<double>(end_ns_ - now_ns));
  CutOff past;
  if (options_.goes_on) {
    ATTUNE_ASSIGN_OR_RETURN(past, FindCutOff(*parts_.store, set));
  }
  LeaveOut(quarantined_, options_.retry_quarantined, past);
  ATTUNE_RETURN_IF_ERROR(RecallFigures(past));
  const int64_t searched_ns =
      std::clamp<int64_t>(past.searched_ns, 0, std::max<int64_t>(search_ns, 0));
  end_ns_ -= searched_ns;
  search_end_ns_ = now_ns + search_ns - searched_ns;
  if (!past.results.empty()) {
    report_.notes.push_back(TakenOverNote(static_cast<int64_t>(past.results.size()), searched_ns));
  }
  qualifier_.Begin(set.id, std::move(past));
  return parts_.store->BeginSet(set);
}

Status ObjectiveSession::RecallFigures(const CutOff& past) {
  std::map<Candidate, std::map<std::string, double>> figures;
  for (const std::string& id : past.set_ids) {
    ATTUNE_ASSIGN_OR_RETURN(const std::vector<TrialFigure> kept, figures_.FiguresOf(id));
    for (const TrialFigure& figure : kept) {
      if (figure.role != TrialRole::kScreen) continue;
      figures[figure.candidate].insert_or_assign(figure.objective.name, figure.figure.value);
    }
  }
  for (const auto& [candidate, time_ns] : past.screened_ns) {
    std::map<std::string, double>& values = figures[candidate];
    values.insert_or_assign(std::string(kTimeObjective), time_ns);
    std::vector<double> sought;
    for (const Objective& objective : sought_.objectives) {
      const auto value = values.find(objective.name);
      if (value != values.end()) sought.push_back(value->second);
    }
    // A candidate that was killed between a time and its metric must be measured again.
    if (sought.size() == sought_.objectives.size()) known_.emplace(candidate, std::move(sought));
  }
  return Status::Ok();
}

// After it every timer of the evaluator is known to be a meter, if one is needed.
Status ObjectiveSession::CheckMeter(BlockTimer& timer) const {
  if (sought_.meter.empty()) return Status::Ok();
  auto* const meter = dynamic_cast<FigureMeter*>(&timer);
  if (meter == nullptr) return Unsupported("Nothing but time is measured here.");
  return meter->CheckMeter(sought_.meter);
}

Status ObjectiveSession::Search(FrontSource& source, const TuneBounds& bounds) {
  std::vector<Candidate> batch = source.Ask(parts_.evaluator->batch_size());
  defaults_ = batch;
  // The incumbent is measured, too, whether or not a search asks for it.
  const bool is_extra = standing_.has_value() &&
                        std::find(batch.begin(), batch.end(), standing_->candidate) == batch.end();
  if (is_extra) batch.push_back(standing_->candidate);
  while (!batch.empty()) {
    ATTUNE_RETURN_IF_ERROR(TryBatch(source, batch, bounds));
    const bool is_over = parts_.clock->NowNs() >= search_end_ns_ ||
                         (bounds.stop_requested && bounds.stop_requested());
    if (is_over) break;
    batch = source.Ask(parts_.evaluator->batch_size());
  }
  // A candidate that was given up, or not begun, is neither measured nor failed.
  int64_t answered = report_.measured;
  for (const auto& [kind, count] : report_.failures) answered += count;
  report_.is_whole = answered == progress_.considered && source.IsExhausted();
  return Status::Ok();
}

Status ObjectiveSession::TryBatch(FrontSource& source, const std::vector<Candidate>& batch,
                                  const TuneBounds& bounds) {
  std::vector<Candidate> allowed;
  for (const Candidate& candidate : batch) {
    if (quarantined_.contains(candidate)) {
      source.Tell(candidate, std::nullopt);
    } else if (!IsMeasured(candidate)) {
      allowed.push_back(candidate);
    }
  }
  if (allowed.empty()) return Status::Ok();
  progress_.considered += static_cast<int64_t>(allowed.size());
  Report(Stage::kQualify);
  std::vector<Qualified> passed;
  {
    ATTUNE_ASSIGN_OR_RETURN(const auto turn, TakeTurn(MachineUse::kPrepare, bounds));
    ATTUNE_ASSIGN_OR_RETURN(
        const std::vector<Qualified> results,
        qualifier_.Qualify(allowed, TimeToQualify({end_ns_, options_.per_problem_ns, bounds.end_ns},
                                                  search_end_ns_, !measured_.empty())));
    for (const Qualified& result : results) {
      if (const Failure* failure = result.trial.failure()) {
        NoteFailure(*failure);
        ++progress_.failed;
        source.Tell(AskedOf(result), std::nullopt);
      } else {
        ++progress_.qualified;
        std::replace(defaults_.begin(), defaults_.end(), AskedOf(result), result.trial.candidate);
        if (!IsMeasured(result.trial.candidate)) passed.push_back(result);
      }
    }
  }
  const std::vector<Qualified> unknown = TakeKnown(source, passed);
  return unknown.empty() ? Status::Ok() : MeasureBatch(source, unknown, bounds);
}

void ObjectiveSession::NoteFailure(const Failure& failure) {
  ++report_.failures[failure.kind];
  report_.last_failure = failure.message;
}

std::vector<Qualified> ObjectiveSession::TakeKnown(FrontSource& source,
                                                   const std::vector<Qualified>& passed) {
  std::vector<Qualified> unknown;
  for (const Qualified& each : passed) {
    const auto known = known_.find(each.trial.candidate);
    if (known == known_.end()) {
      unknown.push_back(each);
    } else {
      Take(source, each, known->second);
    }
  }
  return unknown;
}

void ObjectiveSession::Take(FrontSource& source, const Qualified& passed,
                            std::vector<double> values) {
  source.Tell(AskedOf(passed), values);
  measured_.push_back({passed.trial, LaunchesPerBlock(passed.quick_ns), std::move(values)});
  progress_.timed = ++report_.measured;
  Report(Stage::kScreen);
}

bool ObjectiveSession::IsMeasured(const Candidate& candidate) const {
  return std::any_of(measured_.begin(), measured_.end(),
                     [&](const Measured& known) { return known.qualified.candidate == candidate; });
}

Status ObjectiveSession::MeasureBatch(FrontSource& source, const std::vector<Qualified>& passed,
                                      const TuneBounds& bounds) {
  ATTUNE_ASSIGN_OR_RETURN(const auto turn, TakeTurn(MachineUse::kTime, bounds));
  Report(Stage::kScreen);
  std::vector<Candidate> candidates;
  for (const Qualified& each : passed) candidates.push_back(each.trial.candidate);
  auto timer = parts_.evaluator->StartTiming(candidates);
  if (!timer.ok()) return EvaluationStatus(timer.error());
  for (size_t i = 0; i < passed.size(); ++i) {
    // At least one of the built candidates is measured, because building was expensive.
    if (!measured_.empty() && parts_.clock->NowNs() >= end_ns_) break;
    const Measured measured{passed[i].trial, LaunchesPerBlock(passed[i].quick_ns), {}};
    Lane lane;
    TimingRequest block{measured.launches, options_.cache};
    for (int repeat = 1; repeat < kSearchBlocks && !lane.failure.has_value(); ++repeat) {
      const auto time_ns = (*timer)->TimeBlock(i, block);
      if (time_ns) lane.times_ns.push_back(*time_ns);
      if (!time_ns) lane.failure = time_ns.error();
    }
    if (!lane.failure.has_value()) Sample(**timer, i, measured.launches, lane);
    ATTUNE_RETURN_IF_ERROR(Keep(measured, lane, TrialRole::kScreen, false));
    if (lane.failure.has_value()) {
      NoteFailure(*lane.failure);
      source.Tell(AskedOf(passed[i]), std::nullopt);
      continue;
    }
    std::vector<double> values;
    for (size_t k = 0; k < sought_.objectives.size(); ++k) {
      const bool is_time = sought_.objectives[k].name == kTimeObjective;
      values.push_back(is_time ? Median(lane.times_ns) : Median(lane.values[k]));
    }
    Take(source, passed[i], std::move(values));
  }
  return Status::Ok();
}

void ObjectiveSession::Sample(BlockTimer& timer, size_t index, int launches, Lane& lane) const {
  const auto time_ns = timer.TimeBlock(index, {launches, options_.cache});
  if (!time_ns) {
    lane.failure = time_ns.error();
    return;
  }
  lane.times_ns.push_back(*time_ns);
  MeterReading reading;
  if (!sought_.meter.empty()) {
    auto measured = dynamic_cast<FigureMeter&>(timer).Meter(index, sought_.meter);
    if (!measured) {
      lane.failure = measured.error();
      return;
    }
    reading = *std::move(measured);
  }
  lane.values.resize(sought_.objectives.size());
  size_t output = 0;
  for (size_t k = 0; k < sought_.objectives.size(); ++k) {
    const std::string& name = sought_.objectives[k].name;
    if (name == kTimeObjective) {
      lane.values[k].push_back(*time_ns);
    } else if (name == kEnergyObjective) {
      lane.values[k].push_back(reading.energy.joules);
      lane.energy = reading.energy;
    } else {
      lane.values[k].push_back(reading.outputs[output++]);
    }
  }
}

std::vector<size_t> ObjectiveSession::Finalists() const {
  std::vector<std::vector<double>> values;
  for (const Measured& each : measured_) values.push_back(each.values);
  std::vector<size_t> finalists = Thinned(ParetoFront(values, sought_.objectives), kMostFinalists);
  const auto move_to = [&](size_t place, const Candidate& candidate) {
    const auto found = std::find_if(measured_.begin(), measured_.end(), [&](const auto& each) {
      return each.qualified.candidate == candidate;
    });
    if (found == measured_.end()) return false;
    const auto index = static_cast<size_t>(found - measured_.begin());
    std::erase(finalists, index);
    const size_t at = std::min(place, finalists.size());
    finalists.insert(finalists.begin() + static_cast<std::ptrdiff_t>(at), index);
    return true;
  };
  if (standing_.has_value()) move_to(0, standing_->candidate);
  // The default of the first solver whose default works.
  (void)std::any_of(defaults_.begin(), defaults_.end(),
                    [&](const Candidate& candidate) { return move_to(0, candidate); });
  return finalists;
}

void ObjectiveSession::RunRounds(BlockTimer& timer, const std::vector<size_t>& finalists,
                                 std::vector<Lane>& lanes) {
  Random random(options_.seed + 1);
  std::vector<size_t> order(finalists.size());
  std::iota(order.begin(), order.end(), size_t{0});
  int restarts = 0;
  int generation = timer.generation();
  for (report_.rounds = 0; report_.rounds < kMostRounds;) {
    const bool is_late = parts_.clock->NowNs() >= end_ns_;
    if (is_late && report_.rounds >= kFewestRounds) break;
    for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.Below(i)]);
    for (const size_t i : order) {
      if (!lanes[i].failure.has_value()) {
        Sample(timer, i, measured_[finalists[i]].launches, lanes[i]);
      }
    }
    ++report_.rounds;
    if (timer.generation() == generation) continue;
    // Another process measures now: its samples cannot be compared with earlier ones.
    generation = timer.generation();
    report_.rounds = 0;
    for (Lane& lane : lanes) lane = {{}, {}, {}, std::move(lane.failure)};
    if (++restarts > static_cast<int>(lanes.size())) return;
  }
}

Status ObjectiveSession::RunFinal(const TuneBounds& bounds) {
  ATTUNE_ASSIGN_OR_RETURN(const auto turn, TakeTurn(MachineUse::kTime, bounds));
  Report(Stage::kFinal);
  const std::vector<size_t> finalists = Finalists();
  std::vector<Candidate> candidates;
  for (const size_t i : finalists) candidates.push_back(measured_[i].qualified.candidate);
  auto timer = parts_.evaluator->StartTiming(candidates);
  if (!timer.ok()) return EvaluationStatus(timer.error());
  std::vector<Lane> lanes(finalists.size());
  RunRounds(**timer, finalists, lanes);
  timer->reset();
  const bool is_baseline = !lanes.front().failure.has_value();
  for (size_t i = 0; i < finalists.size(); ++i) {
    if (lanes[i].failure.has_value()) NoteFailure(*lanes[i].failure);
    ATTUNE_RETURN_IF_ERROR(
        Keep(measured_[finalists[i]], lanes[i], TrialRole::kFinal, i == 0 && is_baseline));
  }
  return Status::Ok();
}

Status ObjectiveSession::Keep(const Measured& measured, const Lane& lane, TrialRole role,
                              bool is_default) {
  if (!lane.failure.has_value() && lane.times_ns.empty()) return Status::Ok();
  Trial trial = measured.qualified;
  trial.role = role;
  trial.is_default = is_default;
  std::vector<TrialFigure> figures;
  if (lane.failure.has_value()) {
    trial.outcome = *lane.failure;
    trial.capture_failure.clear();
  } else {
    trial.outcome = MeasurementOf(lane.times_ns, options_.cache, options_.select.confidence);
    for (size_t k = 0; k < sought_.objectives.size(); ++k) {
      const Objective& objective = sought_.objectives[k];
      if (objective.name == kTimeObjective) continue;
      FigureValue figure = FigureOf(lane.values[k], options_.select.confidence);
      if (figure.samples == 1 && objective.name == kEnergyObjective && lane.energy.has_value()) {
        figure.low = lane.energy->low_joules;
        figure.high = lane.energy->high_joules;
      }
      figures.push_back({trial.candidate, role, objective, figure});
    }
  }
  ATTUNE_RETURN_IF_ERROR(parts_.store->Append(report_.set_id, {&trial, 1}));
  return figures.empty() ? Status::Ok() : figures_.AppendFigures(report_.set_id, figures);
}

Status ObjectiveSession::Decide() {
  RecordQuery query;
  query.problem = problem_;
  query.backend = parts_.target.backend;
  bool decides = false;
  ATTUNE_RETURN_IF_ERROR(parts_.store->Visit(query, [&](const RecordedSet& recorded) {
    if (recorded.set.id != report_.set_id) return Status::Ok();
    decides = SelectWithin(recorded, options_.select).has_value() &&
              (!standing_.has_value() || Replaces(recorded, *standing_, options_.select));
    return Status::Ok();
  }));
  return decides ? parts_.store->FinishSet(report_.set_id) : Status::Ok();
}

void ObjectiveSession::Report(Stage stage) {
  progress_.stage = stage;
  if (listener_) listener_(progress_);
}

}  // namespace attune
