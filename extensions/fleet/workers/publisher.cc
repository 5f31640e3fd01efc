#include "extensions/fleet/workers/publisher.h"

#include <algorithm>
#include <utility>

#include "extensions/fleet/workers/channels.h"
#include "extensions/fleet/workers/fair_share.h"

namespace attune {
namespace {

// The published jobs that are still queued: the others are leased, or ended.
std::set<QueuedJob> StillThere(const std::set<QueuedJob>& published,
                               const std::vector<Backlog>& backlogs) {
  std::set<QueuedJob> there;
  for (const Backlog& backlog : backlogs) {
    for (const LeasableJob& job : backlog.jobs) {
      const QueuedJob queued{job.id, job.attempts};
      if (published.contains(queued)) there.insert(queued);
    }
  }
  return there;
}

int64_t CountOf(const std::vector<Backlog>& backlogs) {
  int64_t count = 0;
  for (const Backlog& backlog : backlogs) count += std::ssize(backlog.jobs);
  return count;
}

}  // namespace

std::vector<ChannelSessions> ChannelsOf(const std::vector<Session>& sessions) {
  std::map<Channel, std::vector<int64_t>> channels;
  for (const Session& session : sessions) {
    for (const JobStep& step : AllJobSteps()) {
      channels[ChannelOf(session.terms, step)].push_back(session.id);
    }
  }
  std::vector<ChannelSessions> list;
  for (auto& [channel, ids] : channels) list.push_back({channel, std::move(ids)});
  return list;
}

Result<bool> Publisher::Holds(const Channel& channel, int64_t now_unix_ns) {
  int64_t& until = held_until_unix_ns_[channel];
  // Writes nothing while two thirds of it are left.
  if (until - now_unix_ns > kPublishingNs * 2 / 3) return true;
  const int64_t deadline = now_unix_ns + kPublishingNs;
  ATTUNE_ASSIGN_OR_RETURN(const bool holds,
                          fleet_.HoldPublishing(Token(channel), owner_, now_unix_ns, deadline));
  until = holds ? deadline : 0;
  if (!holds) published_.erase(channel);
  return holds;
}

Result<int64_t> Publisher::Round(const std::vector<Session>& sessions, int64_t now_unix_ns) {
  int64_t published = 0;
  for (const ChannelSessions& channel : ChannelsOf(sessions)) {
    bool is_open = false;
    for (const int64_t id : channel.session_ids) {
      ATTUNE_ASSIGN_OR_RETURN(const Backlog first, fleet_.BacklogOf(id, channel.channel.step, 1));
      is_open = is_open || !first.jobs.empty();
    }
    if (!is_open) continue;
    ATTUNE_ASSIGN_OR_RETURN(const bool holds, Holds(channel.channel, now_unix_ns));
    if (!holds) continue;
    ATTUNE_ASSIGN_OR_RETURN(const int64_t added, Refill(channel));
    published += added;
  }
  return published;
}

Result<int64_t> Publisher::Refill(const ChannelSessions& channel) {
  ATTUNE_ASSIGN_OR_RETURN(const ChannelLoad load, queue_.Pending(channel.channel));
  // Refills in bulk: each time costs as much as a window.
  if (load.waiting > kPublishedWindow / 2) return 0;
  std::vector<Backlog> backlogs;
  for (const int64_t id : channel.session_ids) {
    ATTUNE_ASSIGN_OR_RETURN(backlogs.emplace_back(),
                            fleet_.BacklogOf(id, channel.channel.step, 2 * kPublishedWindow));
  }
  std::set<QueuedJob>& published = published_[channel.channel];
  int64_t& last_session_id = last_session_ids_[channel.channel];
  // An empty channel has none of the published messages, for any reason.
  published = load == ChannelLoad() ? std::set<QueuedJob>() : StillThere(published, backlogs);
  int64_t room = std::min({kPublishedWindow - load.waiting, CountOf(backlogs) - load.waiting,
                           kMostQueued - load.waiting - load.taken});
  int64_t all_added = 0;
  // Twice, if some were there already because another process had published them.
  for (int times = 0; times < 2 && room > 0; ++times) {
    const FairChoice choice = ChooseFairly(backlogs, published, room, last_session_id);
    if (choice.jobs.empty()) break;
    ATTUNE_ASSIGN_OR_RETURN(const int64_t added, queue_.Publish(channel.channel, choice.jobs));
    published.insert(choice.jobs.begin(), choice.jobs.end());
    last_session_id = choice.last_session_id;
    all_added += added;
    room -= added;
  }
  return all_added;
}

}  // namespace attune
