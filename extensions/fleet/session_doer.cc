#include "extensions/fleet/session_doer.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "attune/base/steady_time.h"
#include "attune/session/session_records.h"

namespace attune {
namespace {

// Each has worker processes, and memory on a GPU.
constexpr size_t kMostBenches = 4;
constexpr int64_t kPeaksNs = 60'000'000'000;
// After so many failed problems in a row, the machine cannot evaluate any candidate.
constexpr size_t kMostFailuresInARow = 3;

bool IsOfKind(const SessionTerms& terms, const Target& target) {
  return terms.target.has_value() ? *terms.target == target
                                  : terms.backend == target.backend && terms.arch == target.arch;
}

}  // namespace

Result<std::unique_ptr<SessionDoer>> SessionDoer::Create(Application& application,
                                                         DoerTerms terms) {
  ATTUNE_ASSIGN_OR_RETURN(std::string database, application.DatabasePath());
  std::unique_ptr<SessionDoer> doer(
      new SessionDoer(application, std::move(terms), std::move(database)));
  if (doer->terms_.device.empty()) return doer;
  ATTUNE_ASSIGN_OR_RETURN(doer->device_,
                          FindPlaceToMeasure(application.backends(), doer->terms_.device));
  return doer;
}

SessionDoer::SessionDoer(Application& application, DoerTerms terms, std::string database)
    : application_(application),
      terms_(std::move(terms)),
      kernels_(*application.artifacts(), terms_.owner, terms_.say),
      machine_wait_(terms_.say),
      index_(application.all_records(), IndexOf(database), clock_, application.err()) {
  if (terms_.shares_kernels) terms_.jobs.kernels = &kernels_;
}

SessionDoer::~SessionDoer() {
  NoteTuned();
  index_.Finish();
}

void SessionDoer::NoteTuned() {
  // Measurements become visible once their job is reported, which has happened by now.
  if (std::exchange(has_measured_, false)) index_.NoteTuned();
}

Status SessionDoer::CheckMeasures(const Session& session) const {
  if (!device_.has_value()) return NotFound("It measures nothing.");
  if (!IsOfKind(session.terms, device_->target)) {
    return NotFound(fmt::format("{} is {}.", device_->device_spec, Text(device_->target)));
  }
  return CheckSessionPlace(session, SessionPlaceAt(*device_));
}

Status SessionDoer::CheckCompiles(const Session& session) const {
  if (terms_.compile == 0) return NotFound("It compiles nothing.");
  ATTUNE_ASSIGN_OR_RETURN(const SessionPlace place, FindSessionPlace(application_, session));
  return place.has_device() ? CheckSessionPlace(session, place)
                            : CheckToolchain(session, place.toolchain);
}

std::vector<JobStep> SessionDoer::FindSteps(const Session& session) {
  std::vector<JobStep> steps;
  const Status compiles = CheckCompiles(session);
  const Status measures = CheckMeasures(session);
  for (const JobStep& step : AllJobSteps()) {
    const Status& can_do = step.work == JobWork::kCompile ? compiles : measures;
    if (can_do.ok()) steps.push_back(step);
  }
  // Most sessions of a fleet are for other kinds of devices; only a misfit of the same kind is
  // reported.
  for (const Status* refusal : {&compiles, &measures}) {
    if (refusal->ok() || refusal->code() == StatusCode::kNotFound) continue;
    terms_.say(fmt::format("Nothing of session '{}' is {} here: {}", session.name,
                           refusal == &compiles ? "compiled" : "measured", refusal->message()));
  }
  return steps;
}

std::vector<JobStep> SessionDoer::StepsOf(const Session& session) {
  const auto known = answers_.find(session.id);
  if (known != answers_.end() && known->second.terms == session.terms) return known->second.steps;
  auto steps = FindSteps(session);
  answers_.insert_or_assign(session.id, Answer{session.terms, steps});
  return steps;
}

Status SessionDoer::Survey(const Session& session, Bench& bench) {
  ATTUNE_ASSIGN_OR_RETURN(const auto problems, application_.sessions()->Problems(session.id));
  ATTUNE_ASSIGN_OR_RETURN(SolverSurvey survey,
                          SurveySolvers(application_, session, bench.place, problems));
  bench.known_solvers.clear();
  for (const SolverEntry& entry : survey.table.entries) {
    bench.known_solvers.emplace(entry.solver.name, entry.id);
  }
  bench.executor->SetTable(std::move(survey.table));
  return Status::Ok();
}

Result<std::unique_ptr<Workshop>> SessionDoer::OpenWorkshop() {
  auto opened = Workshop::Open(
      *device_, terms_.limits,
      [this] {
        machine_wait_.Waits(SteadyNowNs());
        return !terms_.jobs.stop_requested();
      },
      SteadyNowNs() + kPeaksNs);
  if (opened.ok()) machine_wait_.GoesOn(SteadyNowNs());
  machine_wait_.Ends();
  return opened;
}

void SessionDoer::NoteStage(TuneProgress::Stage stage) {
  switch (stage) {
    case TuneProgress::Stage::kWait:
      return machine_wait_.Waits(SteadyNowNs());
    case TuneProgress::Stage::kEnumerate:
      return machine_wait_.Ends();  // The job before may have waited in vain.
    default:
      return machine_wait_.GoesOn(SteadyNowNs());
  }
}

Result<SessionDoer::Bench*> SessionDoer::BenchFor(const Session& session, JobWork work) {
  const auto found = std::find_if(benches_.begin(), benches_.end(), [&](const auto& bench) {
    return bench->session_id == session.id && bench->work == work;
  });
  if (found != benches_.end()) {
    std::rotate(found, found + 1, benches_.end());
    return benches_.back().get();
  }
  auto bench = std::make_unique<Bench>();
  bench->session_id = session.id;
  bench->work = work;
  if (work == JobWork::kMeasure) {
    bench->place = SessionPlaceAt(*device_);
    ATTUNE_RETURN_IF_ERROR(EnterSession(application_, session, bench->place));
    ATTUNE_ASSIGN_OR_RETURN(bench->workshop, OpenWorkshop());
  } else {
    ATTUNE_ASSIGN_OR_RETURN(bench->place, FindSessionPlace(application_, session));
  }
  bench->records = RecordsOf(session.id, application_.all_records(), *application_.sessions());
  bench->executor = std::make_unique<JobExecutor>(bench->place, bench->workshop.get(), terms_.jobs,
                                                  *bench->records);
  bench->executor->SetShow(
      [this](const Problem&, const TuneProgress& progress) { NoteStage(progress.stage); });
  // Binding may have changed the target of the session.
  ATTUNE_ASSIGN_OR_RETURN(const Session now, application_.sessions()->Find(session.name));
  ATTUNE_RETURN_IF_ERROR(Survey(now, *bench));
  if (benches_.size() == kMostBenches) benches_.erase(benches_.begin());
  benches_.push_back(std::move(bench));
  return benches_.back().get();
}

Result<std::vector<JobReport>> SessionDoer::Do(const Session& session,
                                               const std::vector<Job>& jobs) {
  NoteTuned();
  ATTUNE_ASSIGN_OR_RETURN(Bench * bench, BenchFor(session, jobs.front().step.work));
  const bool knows_all = std::all_of(jobs.begin(), jobs.end(), [&](const Job& job) {
    return bench->known_solvers.contains(job.solver);
  });
  if (!knows_all) ATTUNE_RETURN_IF_ERROR(Survey(session, *bench));
  ATTUNE_ASSIGN_OR_RETURN(auto reports, bench->executor->Do(jobs));
  has_measured_ = bench->work == JobWork::kMeasure && !reports.front().set_id.empty();
  return reports;
}

Status SessionDoer::LeaveToOthers(const Bench& bench) {
  JobFilter theirs;
  theirs.states = {JobState::kFailed};
  for (const auto& ids : bench.executor->in_vain().jobs) {
    theirs.ids.insert(theirs.ids.end(), ids.begin(), ids.end());
  }
  return application_.jobs()->Requeue(bench.session_id, theirs).status();
}

std::string SessionDoer::WhyNoMore() {
  for (const auto& bench : benches_) {
    const InVain& in_vain = bench->executor->in_vain();
    if (in_vain.jobs.size() < kMostFailuresInARow) continue;
    const Status left = LeaveToOthers(*bench);
    return fmt::format(
        "Candidates of {} problems in a row could not be evaluated, so the worker stops, and their "
        "jobs are {}: {}",
        in_vain.jobs.size(),
        left.ok() ? "queued again" : fmt::format("left as failed ({})", left.message()),
        in_vain.message);
  }
  return "";
}

}  // namespace attune
