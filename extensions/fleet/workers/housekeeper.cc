#include "extensions/fleet/workers/housekeeper.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "attune/base/steady_time.h"
#include "attune/base/unix_time.h"

namespace attune {
namespace {

constexpr std::chrono::milliseconds kShortestPause{50};
constexpr std::chrono::milliseconds kLongestPause{1000};
constexpr int64_t kLeasesEachNs = 1'000'000'000;
constexpr int64_t kDeadEachNs = 30'000'000'000;
constexpr int64_t kBeatEachNs = 5'000'000'000;

// True if it is time again; then records it as done.
bool IsDue(int64_t& done_ns, int64_t each_ns) {
  const int64_t now_ns = SteadyNowNs();
  if (done_ns != 0 && now_ns - done_ns < each_ns) return false;
  done_ns = now_ns;
  return true;
}

}  // namespace

Housekeeper::Housekeeper(const FleetParts& parts, HousekeepingTerms terms)
    : parts_(parts),
      terms_(std::move(terms)),
      publisher_(parts_.fleet, parts_.queue, terms_.reconcile.owner),
      thread_([this] { Work(); }) {}

Housekeeper::~Housekeeper() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
  WorkerState state = terms_.state();
  state.beat_unix_ns = state.ended_unix_ns = parts_.jobs.NowUnixNs().value_or(UnixNowNs());
  state.doing.clear();
  const Status told = parts_.fleet.PutWorker(state);
  Note(told);
  // Each call waits for a database that is away; the publishing leases expire in seconds anyway.
  if (told.ok()) Note(parts_.fleet.LetGoOfPublishing(terms_.reconcile.owner));
}

void Housekeeper::Nudge() {
  const std::lock_guard lock(mutex_);
  is_nudged_ = true;
  changed_.notify_all();
}

void Housekeeper::Note(const Status& status) {
  constexpr std::string_view kWhat = "What keeps the fleet in order";
  if (status.ok()) {
    terms_.outages->There(kWhat, SteadyNowNs());
  } else {
    terms_.outages->Fails(kWhat, status, SteadyNowNs());
  }
}

void Housekeeper::TellUnreadable(const Reconciled& reconciled) {
  if (reconciled.unreadable > unreadable_) {
    terms_.say(
        fmt::format("{} dead letters are about no job that this attune can read; the last: {}",
                    reconciled.unreadable, reconciled.unreadable_reasons.back()));
  }
  unreadable_ = reconciled.unreadable;
}

void Housekeeper::Work() {
  Done done;
  std::chrono::milliseconds pause = kShortestPause;
  std::unique_lock lock(mutex_);
  while (!is_ending_) {
    is_nudged_ = false;
    lock.unlock();
    const Result<int64_t> published = Round(done);
    Note(published.status());
    const bool goes_on = published.ok() && *published > 0;
    pause = goes_on ? kShortestPause : std::min(2 * pause, kLongestPause);
    lock.lock();
    // Rests for the shortest pause, however often it is nudged.
    changed_.wait_for(lock, kShortestPause, [&] { return is_ending_; });
    changed_.wait_for(lock, pause - kShortestPause, [&] { return is_ending_ || is_nudged_; });
  }
}

Result<int64_t> Housekeeper::Round(Done& done) {
  ATTUNE_ASSIGN_OR_RETURN(const int64_t now_unix_ns, parts_.jobs.NowUnixNs());
  if (IsDue(done.beat_ns, kBeatEachNs)) {
    WorkerState state = terms_.state();
    state.beat_unix_ns = now_unix_ns;
    ATTUNE_RETURN_IF_ERROR(parts_.fleet.PutWorker(state));
  }
  ATTUNE_ASSIGN_OR_RETURN(const auto sessions, parts_.fleet.OpenSessions());
  if (IsDue(done.leases_ns, kLeasesEachNs)) {
    ReconcileTerms terms = terms_.reconcile;
    terms.now_unix_ns = now_unix_ns;
    ATTUNE_RETURN_IF_ERROR(GiveBackLostLeases(parts_, sessions, terms).status());
  }
  if (IsDue(done.dead_ns, kDeadEachNs)) {
    Reconciled reconciled;
    ATTUNE_RETURN_IF_ERROR(BuryDead(parts_, sessions, now_unix_ns, reconciled));
    if (reconciled.buried > 0) terms_.say("Jobs of dead letters have failed.");
    TellUnreadable(reconciled);
  }
  if (!parts_.publishes) return 0;
  return publisher_.Round(sessions, now_unix_ns);
}

}  // namespace attune
