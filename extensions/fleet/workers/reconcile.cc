#include "extensions/fleet/workers/reconcile.h"

#include <algorithm>

#include "extensions/fleet/workers/publisher.h"

namespace attune {
namespace {

constexpr size_t kMostReasons = 5;

// Asking for the dead letters of a channel that never had a job must not create it.
Result<bool> HasOpenJobs(FleetStore& fleet, const ChannelSessions& channel) {
  const std::vector<JobStep> steps = {channel.channel.step};
  for (const int64_t id : channel.session_ids) {
    ATTUNE_ASSIGN_OR_RETURN(const bool has_any, fleet.HasOpenJobs(id, steps));
    if (has_any) return true;
  }
  return false;
}

// The `letters` with jobs that are unchanged since their messages were published.
Result<std::vector<DeadLetter>> ToBury(FleetStore& fleet, const std::vector<DeadLetter>& letters) {
  std::vector<DeadLetter> waiting;
  for (size_t begin = 0; begin < letters.size(); begin += kMostFound) {
    const size_t end = std::min(begin + kMostFound, letters.size());
    std::vector<int64_t> ids;
    for (size_t i = begin; i < end; ++i) ids.push_back(letters[i].job.job_id);
    ATTUNE_ASSIGN_OR_RETURN(const auto found, fleet.Find(ids));
    for (size_t i = begin; i < end; ++i) {
      const bool is_there = std::any_of(found.begin(), found.end(), [&](const FoundJob& job) {
        return job.id == letters[i].job.job_id && job.state == JobState::kQueued &&
               job.attempts == letters[i].job.attempt;
      });
      if (is_there) waiting.push_back(letters[i]);
    }
  }
  return waiting;
}

}  // namespace

Result<int64_t> GiveBackLostLeases(const FleetParts& parts, const std::vector<Session>& sessions,
                                   const ReconcileTerms& terms) {
  int64_t given_back = 0;
  for (const Session& session : sessions) {
    if (terms.is_gone != nullptr) {
      ATTUNE_ASSIGN_OR_RETURN(const auto owners, parts.fleet.LeaseOwners(session.id));
      for (const std::string& owner : owners) {
        if (!terms.is_gone(owner)) continue;
        ATTUNE_RETURN_IF_ERROR(parts.jobs.ExpireLeasesOf(session.id, owner));
      }
    }
    ATTUNE_ASSIGN_OR_RETURN(const int64_t expired,
                            parts.fleet.GiveBackExpired(session.id, terms.now_unix_ns));
    given_back += expired;
  }
  return given_back;
}

Status BuryDead(const FleetParts& parts, const std::vector<Session>& sessions, int64_t now_unix_ns,
                Reconciled& reconciled) {
  for (const ChannelSessions& channel : ChannelsOf(sessions)) {
    ATTUNE_ASSIGN_OR_RETURN(const bool has_jobs, HasOpenJobs(parts.fleet, channel));
    if (!has_jobs) continue;
    ATTUNE_ASSIGN_OR_RETURN(const auto letters, parts.queue.DeadLetters(channel.channel));
    for (const DeadLetter& letter : letters) {
      if (letter.job.job_id != 0) continue;
      ++reconciled.unreadable;
      if (reconciled.unreadable_reasons.size() >= kMostReasons) continue;
      reconciled.unreadable_reasons.push_back(letter.reason);
    }
    ATTUNE_ASSIGN_OR_RETURN(const auto waiting, ToBury(parts.fleet, letters));
    for (const DeadLetter& letter : waiting) {
      ATTUNE_ASSIGN_OR_RETURN(const bool was_buried, parts.fleet.Bury(letter, now_unix_ns));
      reconciled.buried += was_buried ? 1 : 0;
    }
  }
  return Status::Ok();
}

Result<Reconciled> Reconcile(const FleetParts& parts, const ReconcileTerms& terms) {
  Reconciled reconciled;
  ATTUNE_ASSIGN_OR_RETURN(const auto sessions, parts.fleet.OpenSessions());
  reconciled.sessions = std::ssize(sessions);
  ATTUNE_ASSIGN_OR_RETURN(reconciled.given_back, GiveBackLostLeases(parts, sessions, terms));
  ATTUNE_RETURN_IF_ERROR(BuryDead(parts, sessions, terms.now_unix_ns, reconciled));
  if (!parts.publishes) return reconciled;
  Publisher publisher(parts.fleet, parts.queue, terms.owner);
  for (const ChannelSessions& channel : ChannelsOf(sessions)) {
    ATTUNE_ASSIGN_OR_RETURN(const bool has_jobs, HasOpenJobs(parts.fleet, channel));
    if (!has_jobs) continue;
    ATTUNE_ASSIGN_OR_RETURN(const int64_t published, publisher.Refill(channel));
    reconciled.published += published;
  }
  return reconciled;
}

}  // namespace attune
