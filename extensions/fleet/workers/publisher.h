// Keeps the channels of a queue filled with what can be done next.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "attune/base/status.h"
#include "attune/session/fleet_store.h"
#include "extensions/fleet/queue/job_queue.h"

namespace attune {

// Messages of a channel that nobody has taken yet, at most; far below kMostQueued.
inline constexpr int64_t kPublishedWindow = 256;
// Whoever publishes on a channel is taken over from when it was silent for so long.
inline constexpr int64_t kPublishingNs = 10'000'000'000;

// The jobs of open sessions that one channel carries.
struct ChannelSessions {
  Channel channel;
  std::vector<int64_t> session_ids;
};
std::vector<ChannelSessions> ChannelsOf(const std::vector<Session>& sessions);

// Any worker may publish: on each channel the one does that holds its lease in the database
// (FleetStore::HoldPublishing). What it has published is in its memory alone; whoever takes over
// may publish up to a window of jobs once more, which is harmless, since leasing gives each to one.
// Not thread-safe.
class Publisher {
 public:
  // Borrows both.
  Publisher(FleetStore& fleet, JobQueue& queue, std::string owner)
      : fleet_(fleet), queue_(queue), owner_(std::move(owner)) {}

  // Refills every channel of `sessions` that this one holds or can take over, up to the window, by
  // priority and fair share (ChooseFairly); how many messages were put there that were not.
  Result<int64_t> Round(const std::vector<Session>& sessions, int64_t now_unix_ns);
  // The same of one channel, whoever holds it.
  Result<int64_t> Refill(const ChannelSessions& channel);

 private:
  Result<bool> Holds(const Channel& channel, int64_t now_unix_ns);

  FleetStore& fleet_;
  JobQueue& queue_;
  const std::string owner_;
  std::map<Channel, int64_t> held_until_unix_ns_;
  std::map<Channel, std::set<QueuedJob>> published_;  // And not seen to be leased.
  std::map<Channel, int64_t> last_session_ids_;       // FairChoice of what was published last.
};

}  // namespace attune
