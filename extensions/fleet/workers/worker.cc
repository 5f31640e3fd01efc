#include "extensions/fleet/workers/worker.h"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "attune/base/steady_time.h"
#include "attune/base/unix_time.h"
#include "extensions/fleet/workers/channels.h"
#include "extensions/fleet/workers/job_reports.h"

namespace attune {
namespace {

constexpr int64_t kMillisecondNs = 1'000'000;
constexpr std::string_view kWhatWasAway = "What was away";
constexpr int64_t kLookEachNs = 500 * kMillisecondNs;
// One round over several channels of an idle worker, so that a loaded job begins at once. With a
// single channel, the queue delivers at once.
constexpr int64_t kIdleRoundMs = 80;
constexpr int64_t kOnlyChannelMs = 500;
constexpr std::chrono::milliseconds kRest{500};
// Jobs taken together should take no longer: no other worker can have them meanwhile.
constexpr int64_t kTakenNs = 100 * kMillisecondNs;
constexpr int64_t kRefusedNs = 60'000 * kMillisecondNs;
// Clock skew that is reported: more than between clocks that are kept right.
constexpr int64_t kToldSkewNs = 5'000 * kMillisecondNs;
// Patience after a stop request while the database is away.
constexpr std::chrono::milliseconds kLastPatience{30'000};

// A server that is away may return, and a full disk may get room.
bool MayPass(const Status& status) {
  return status.code() == StatusCode::kUnavailable ||
         status.code() == StatusCode::kResourceExhausted;
}

// The target of a session, for users.
std::string TargetOf(const Session& session) {
  return session.terms.target.has_value()
             ? Text(*session.terms.target)
             : fmt::format("{} {}", session.terms.backend, session.terms.arch);
}

}  // namespace

void CountReport(const JobReport& report, const Job& job, WorkerSummary& summary) {
  if (report.state == JobState::kQueued) ++summary.given_back;
  if (report.state == JobState::kDone) ++summary.done;
  if (report.state != JobState::kFailed) return;
  ++summary.failed;
  ++summary.failures[report.error.kind];
  if (summary.troubles.size() >= kMostTroubles) return;
  summary.troubles.push_back(fmt::format("job {}, {} {} of {}: {}: {}", job.id, Text(job.step),
                                         job.solver, Text(job.problem), report.error.kind,
                                         report.error.text));
}

Worker::Worker(const FleetParts& parts, JobDoer& doer, WorkerTerms terms)
    : parts_(parts),
      doer_(doer),
      terms_(std::move(terms)),
      outages_(terms_.outages != nullptr
                   ? terms_.outages
                   : std::make_shared<OutageLog>(terms_.say, terms_.patience)),
      leases_(parts_.jobs, terms_.lease_ns),
      deliveries_(parts_.queue, terms_.ack_wait),
      state_(terms_.who) {}

WorkerState Worker::state() {
  const std::lock_guard lock(mutex_);
  state_.done_count = summary_.done;
  state_.failed_count = summary_.failed;
  return state_;
}

void Worker::SetDoing(std::string doing) {
  const std::lock_guard lock(mutex_);
  state_.doing = std::move(doing);
}

void Worker::SetHeld(std::vector<Job> jobs) {
  const std::lock_guard lock(mutex_);
  held_ = std::move(jobs);
}

Status Worker::GiveBackNow() {
  std::vector<JobReport> reports;
  {
    const std::lock_guard lock(mutex_);
    reports = AsGivenBack(held_);
  }
  ATTUNE_ASSIGN_OR_RETURN(const int64_t now_unix_ns, parts_.jobs.NowUnixNs());
  ATTUNE_RETURN_IF_ERROR(parts_.jobs.Report(reports, now_unix_ns).status());
  WorkerState ended = state();
  ended.beat_unix_ns = ended.ended_unix_ns = now_unix_ns;
  ended.doing.clear();
  ATTUNE_RETURN_IF_ERROR(parts_.fleet.PutWorker(ended));
  return parts_.fleet.LetGoOfPublishing(terms_.who.owner);
}

void Worker::TellWhatTheClockIs(int64_t now_unix_ns) {
  const int64_t ahead_ns = UnixNowNs() - now_unix_ns;
  if (std::abs(ahead_ns) < kToldSkewNs) return;
  terms_.say(
      fmt::format("The clock of this machine is {} s {} that of the database. Leases go by the "
                  "database's, so nothing is lost by it, but what is measured here has the moments "
                  "of this machine: set its clock (NTP).",
                  std::abs(ahead_ns) / 1'000'000'000, ahead_ns > 0 ? "ahead of" : "behind"));
}

Result<Reconciled> Worker::ReconcileNow() {
  ATTUNE_ASSIGN_OR_RETURN(const int64_t now_unix_ns, parts_.jobs.NowUnixNs());
  TellWhatTheClockIs(now_unix_ns);
  return Reconcile(parts_, {terms_.who.owner, now_unix_ns, terms_.is_gone});
}

Status Worker::Begin() {
  for (;;) {
    const auto reconciled = ReconcileNow();
    const Status begun = reconciled.ok() ? parts_.fleet.PutWorker(state()) : reconciled.error();
    if (begun.ok()) {
      NoteThere();
      terms_.say(fmt::format(
          "Reconciled {} open sessions: {} jobs given back, {} failed by dead "
          "letters, {} published.",
          reconciled->sessions, reconciled->given_back, reconciled->buried, reconciled->published));
      return Status::Ok();
    }
    if (!RestAfter(begun)) return begun;
  }
}

Status Worker::Run() {
  ATTUNE_RETURN_IF_ERROR(Begin());
  Housekeeper housekeeper(
      parts_,
      {{terms_.who.owner, 0, terms_.is_gone}, [this] { return state(); }, terms_.say, outages_});
  housekeeper_ = &housekeeper;
  const Status ended = Loop();
  housekeeper_ = nullptr;
  return ended;
}

Status Worker::Loop() {
  while (!terms_.stop_requested()) {
    summary_.stopped_because = doer_.WhyNoMore();
    if (!summary_.stopped_because.empty()) return Status::Ok();
    const Result<bool> turn = Turn();
    if (!turn.ok()) {
      if (RestAfter(turn.error())) continue;
      return terms_.stop_requested() ? Status::Ok() : turn.error();
    }
    NoteThere();
    if (*turn) {
      idle_since_ns_ = 0;
      continue;
    }
    ATTUNE_ASSIGN_OR_RETURN(const bool goes_on, GoesOnIdle());
    if (!goes_on) return Status::Ok();
  }
  return Status::Ok();
}

Result<bool> Worker::GoesOnIdle() {
  const int64_t now_ns = SteadyNowNs();
  if (idle_since_ns_ == 0) idle_since_ns_ = now_ns;
  const int64_t idle_ns = std::chrono::nanoseconds(terms_.idle).count();
  if (idle_ns > 0 && now_ns - idle_since_ns_ >= idle_ns) return false;
  if (!terms_.until_done) return true;
  const Result<bool> is_done = IsDone();
  if (!is_done.ok()) {
    if (!RestAfter(is_done.error())) return is_done.error();
    return true;
  }
  return !*is_done;
}

Result<bool> Worker::IsDone() {
  looked_ns_ = 0;
  ATTUNE_RETURN_IF_ERROR(LookAtSessions());
  for (const Offer& offer : offers_) {
    ATTUNE_ASSIGN_OR_RETURN(const bool has_open,
                            parts_.fleet.HasOpenJobs(offer.session.id, offer.steps));
    if (has_open) return false;
  }
  return true;
}

bool Worker::RestAfter(const Status& failure) {
  if (!MayPass(failure)) return false;
  const int64_t now_ns = SteadyNowNs();
  if (away_since_ns_ == 0) away_since_ns_ = now_ns;
  outages_->Fails(kWhatWasAway, failure, now_ns);
  const auto patience =
      terms_.stop_requested() ? std::min(kLastPatience, terms_.patience) : terms_.patience;
  if (now_ns - away_since_ns_ > std::chrono::nanoseconds(patience).count()) return false;
  std::this_thread::sleep_for(kRest);
  // Before the next take: this machine may no longer fit the sessions.
  looked_ns_ = 0;
  doer_.LookAgain();
  return true;
}

void Worker::NoteThere() {
  if (away_since_ns_ == 0) return;
  outages_->There(kWhatWasAway, SteadyNowNs());
  away_since_ns_ = 0;
}

void Worker::TellThatNothingFits(const std::vector<Session>& sessions) {
  const bool fits_nothing = offers_.empty() && !sessions.empty() && refused_until_ns_.empty();
  if (fits_nothing && !fitted_nothing_) {
    terms_.say(fmt::format(
        "Nothing of {} is for this worker ({}): '{}' is for {}. It waits for a session that is.",
        sessions.size() == 1 ? std::string("the open session")
                             : fmt::format("the {} open sessions", sessions.size()),
        terms_.who.target, sessions.back().name, TargetOf(sessions.back())));
  }
  fitted_nothing_ = fits_nothing;
}

void Worker::TellOfOthersJobs(const std::vector<int64_t>& given,
                              const std::vector<FoundJob>& found) {
  if (told_of_others_jobs_) return;
  for (const int64_t id : given) {
    const bool is_there =
        std::any_of(found.begin(), found.end(), [&](const FoundJob& job) { return job.id == id; });
    if (is_there) continue;
    terms_.say(fmt::format(
        "The queue has job {}, and this database never had it: another database uses the same "
        "queue, and each takes the other's messages away, so that jobs wait for minutes. Give "
        "each a fleet of its own (?fleet=NAME behind the queue's URL).",
        id));
    told_of_others_jobs_ = true;
    return;
  }
}

Status Worker::LookAtSessions() {
  const int64_t now_ns = SteadyNowNs();
  if (looked_ns_ != 0 && now_ns - looked_ns_ < kLookEachNs) return Status::Ok();
  ATTUNE_ASSIGN_OR_RETURN(const auto sessions, parts_.fleet.OpenSessions());
  offers_.clear();
  for (const Session& session : sessions) {
    const auto refused = refused_until_ns_.find(session.id);
    if (refused != refused_until_ns_.end() && now_ns < refused->second) continue;
    auto steps = doer_.StepsOf(session);
    if (!steps.empty()) offers_.push_back({session, std::move(steps)});
  }
  looked_ns_ = now_ns;
  TellThatNothingFits(sessions);
  return Status::Ok();
}

std::vector<Channel> Worker::Channels() const {
  std::vector<Channel> channels;
  for (const Offer& offer : offers_) {
    for (const JobStep& step : offer.steps) {
      Channel channel = ChannelOf(offer.session.terms, step);
      const bool is_new = std::find(channels.begin(), channels.end(), channel) == channels.end();
      if (is_new) channels.push_back(std::move(channel));
    }
  }
  return channels;
}

const Worker::Offer* Worker::OfferOf(int64_t session_id, const JobStep& step) const {
  for (const Offer& offer : offers_) {
    if (offer.session.id != session_id) continue;
    const bool has_step =
        std::find(offer.steps.begin(), offer.steps.end(), step) != offer.steps.end();
    return has_step ? &offer : nullptr;
  }
  return nullptr;
}

Result<bool> Worker::Turn() {
  ATTUNE_RETURN_IF_ERROR(LookAtSessions());
  ATTUNE_ASSIGN_OR_RETURN(auto deliveries, TakeSomething());
  if (deliveries.empty()) return false;
  ATTUNE_ASSIGN_OR_RETURN(const Taken taken, Lease(std::move(deliveries)));
  if (taken.searches.empty() && taken.has_others) {
    // A database queue gives them again a second later.
    std::this_thread::sleep_for(std::chrono::milliseconds(kIdleRoundMs));
    return false;
  }
  if (!taken.searches.empty()) ATTUNE_RETURN_IF_ERROR(DoAll(taken));
  if (housekeeper_ != nullptr) housekeeper_->Nudge();
  return true;
}

Result<std::vector<Delivery>> Worker::TakeSomething() {
  const std::vector<Channel> channels = Channels();
  if (channels.empty()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(kIdleRoundMs));
    return std::vector<Delivery>();
  }
  const auto share = channels.size() == 1
                         ? kOnlyChannelMs
                         : std::max<int64_t>(kIdleRoundMs / std::ssize(channels), 1);
  // After work, checks all channels before it waits on any.
  for (const int64_t wait_ms : {int64_t{0}, share}) {
    if (wait_ms == 0 && idle_since_ns_ != 0) continue;
    for (size_t i = 0; i < channels.size(); ++i) {
      const Channel& channel = channels[next_channel_++ % channels.size()];
      ATTUNE_ASSIGN_OR_RETURN(
          auto deliveries, parts_.queue.Take(channel, most_, std::chrono::milliseconds(wait_ms)));
      if (!deliveries.empty()) return deliveries;
      if (terms_.stop_requested()) return deliveries;
    }
  }
  return std::vector<Delivery>();
}

void Worker::Acknowledge(const std::vector<Delivery>& deliveries) {
  // A message that cannot be acknowledged comes again, and is dropped then.
  (void)parts_.queue.AcknowledgeAll(deliveries);
}

Result<Worker::Taken> Worker::Lease(std::vector<Delivery> deliveries) {
  std::vector<int64_t> ids;
  for (const Delivery& delivery : deliveries) ids.push_back(delivery.job.job_id);
  ATTUNE_ASSIGN_OR_RETURN(const auto found, parts_.fleet.Find(ids));
  TellOfOthersJobs(ids, found);
  std::map<std::pair<int64_t, JobStep>, std::vector<int64_t>> groups;
  for (const FoundJob& job : found) {
    if (job.state == JobState::kQueued) groups[{job.session_id, job.step}].push_back(job.id);
  }
  Taken taken;
  for (auto& [group, wanted] : groups) {
    const Offer* offer = OfferOf(group.first, group.second);
    if (offer == nullptr) {
      // The job is of a session opened since, or of one that this machine cannot do.
      looked_ns_ = 0;
      ATTUNE_RETURN_IF_ERROR(LookAtSessions());
      offer = OfferOf(group.first, group.second);
    }
    if (offer == nullptr) {
      taken.has_others = true;
      continue;
    }
    ATTUNE_RETURN_IF_ERROR(LeaseOf(*offer, group.second, std::move(wanted), taken));
  }
  std::set<int64_t> leased;
  for (const Search& search : taken.searches) {
    for (const Job& job : search.jobs) leased.insert(job.id);
  }
  std::vector<Delivery> dropped;
  for (Delivery& delivery : deliveries) {
    const bool is_leased = leased.contains(delivery.job.job_id);
    (is_leased ? taken.deliveries : dropped).push_back(std::move(delivery));
  }
  summary_.dropped += std::ssize(dropped);
  Acknowledge(dropped);
  return taken;
}

Status Worker::LeaseOf(const Offer& offer, const JobStep& step, std::vector<int64_t> ids,
                       Taken& taken) {
  ATTUNE_ASSIGN_OR_RETURN(const int64_t now_unix_ns, parts_.jobs.NowUnixNs());
  LeaseTerms terms{{step}, terms_.who.owner, now_unix_ns, terms_.lease_ns, std::move(ids)};
  auto leased = parts_.jobs.Lease(offer.session.id, terms);
  // Closed meanwhile: its jobs can no longer be done.
  if (!leased.ok() && leased.error().code() == StatusCode::kFailedPrecondition) {
    return Status::Ok();
  }
  ATTUNE_RETURN_IF_ERROR(leased.status());
  for (Job& job : *leased) {
    const bool is_same_search = !taken.searches.empty() &&
                                taken.searches.back().session.id == offer.session.id &&
                                taken.searches.back().jobs.front().step == step &&
                                taken.searches.back().jobs.front().problem == job.problem;
    if (!is_same_search) taken.searches.push_back({offer.session, {}});
    taken.searches.back().jobs.push_back(std::move(job));
  }
  return Status::Ok();
}

Status Worker::DoAll(const Taken& taken) {
  std::vector<JobClaim> claims;
  std::vector<Job> held;
  for (const Search& search : taken.searches) {
    for (const Job& job : search.jobs) claims.push_back({job.id, job.attempts});
    held.insert(held.end(), search.jobs.begin(), search.jobs.end());
  }
  SetHeld(std::move(held));
  leases_.Hold(std::move(claims));
  deliveries_.Hold(taken.deliveries);
  std::vector<JobReport> reports;
  std::vector<Job> jobs;
  const int64_t begin_ns = SteadyNowNs();
  int64_t committed_ns = begin_ns;
  int64_t count = 0;
  Status status;
  for (const Search& search : taken.searches) {
    auto done = terms_.stop_requested() ? AsGivenBack(search.jobs) : DoOne(search);
    count += std::ssize(search.jobs);
    reports.insert(reports.end(), done.begin(), done.end());
    jobs.insert(jobs.end(), search.jobs.begin(), search.jobs.end());
    const bool is_last = &search == &taken.searches.back();
    const bool is_time = SteadyNowNs() - committed_ns > kTakenNs || reports.size() >= kMostLeased;
    if (!is_last && !is_time) continue;
    if (status.ok()) status = Report(reports, jobs);
    TellUndone(status, jobs.size());
    committed_ns = SteadyNowNs();
    reports.clear();
    jobs.clear();
  }
  leases_.Hold({});
  deliveries_.Hold({});
  SetHeld({});
  SetDoing("");
  ATTUNE_RETURN_IF_ERROR(status);
  Acknowledge(taken.deliveries);
  Adapt(count, SteadyNowNs() - begin_ns);
  // A disk can have room for a lease and none for the measurements.
  return std::exchange(away_, Status::Ok());
}

std::vector<JobReport> Worker::DoOne(const Search& search) {
  const Job& first = search.jobs.front();
  SetDoing(fmt::format("{} of {} in session '{}'", Text(first.step), Text(first.problem),
                       search.session.name));
  auto done = doer_.Do(search.session, search.jobs);
  if (done.ok()) return std::move(*done);
  if (MayPass(done.error())) away_ = done.error();
  if (done.error().code() == StatusCode::kResourceExhausted) {
    // Before the report: a server with a full disk may be gone by then.
    outages_->Fails(kWhatWasAway, done.error(), SteadyNowNs());
  }
  undone_.push_back({first, search.session, done.error()});
  return AsGivenBack(search.jobs);
}

void Worker::TellUndone(const Status& reported, size_t jobs) {
  for (const auto& [job, session, why] : std::exchange(undone_, {})) {
    // Reports only the first of several failures that may pass.
    if (away_since_ns_ == 0 || !MayPass(why)) {
      terms_.say(fmt::format("{} of {} {}: {}", Text(job.step), Text(job.problem),
                             reported.ok() ? "is given back" : "was not done", why.message()));
    }
    if (MayPass(why) || !reported.ok()) continue;
    if (!refused_until_ns_.contains(session.id)) {
      summary_.refusals.push_back(
          fmt::format("{} of session '{}': {}", Text(job.step), session.name, why.message()));
    }
    refused_until_ns_[session.id] = SteadyNowNs() + kRefusedNs;
    looked_ns_ = 0;
  }
  if (reported.ok()) return;
  // The reason for an outage is printed where it began, and where the worker ends because of it.
  terms_.say(fmt::format(
      "What came of {} cannot be written: {} leased until {} over, within {} s, and done again "
      "then.{}{}",
      jobs == 1 ? "a job" : fmt::format("{} jobs", jobs), jobs == 1 ? "it stays" : "they stay",
      jobs == 1 ? "its lease is" : "their leases are", terms_.lease_ns / 1'000'000'000,
      MayPass(reported) ? "" : " ", MayPass(reported) ? "" : reported.message()));
}

Status Worker::Report(const std::vector<JobReport>& reports, const std::vector<Job>& jobs) {
  for (;;) {
    const auto taken = ReportNow(parts_.jobs, reports);
    if (taken.ok()) {
      const std::lock_guard lock(mutex_);
      for (size_t i = 0; i < reports.size(); ++i) {
        if ((*taken)[i]) {
          CountReport(reports[i], jobs[i], summary_);
        } else {
          ++summary_.lost;
        }
      }
      return Status::Ok();
    }
    if (!RestAfter(taken.error())) return taken.error();
  }
}

void Worker::Adapt(int64_t jobs, int64_t took_ns) {
  const int64_t each_ns = std::max<int64_t>(took_ns / std::max<int64_t>(jobs, 1), 1);
  const int64_t wanted = std::max<int64_t>(kTakenNs / each_ns, 1);
  // Rises slowly, falls at once.
  most_ = std::min({wanted, 4 * most_, static_cast<int64_t>(kMostLeased)});
}

}  // namespace attune
