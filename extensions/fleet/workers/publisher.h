// Keeps the channels of a queue filled with jobs that can be done next.
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

// Messages of a channel that are not taken yet, at most; far below kMostQueued.
inline constexpr int64_t kPublishedWindow = 256;
// Another process takes over a channel after its publisher was silent for so long.
inline constexpr int64_t kPublishingNs = 10'000'000'000;

// The jobs of open sessions that one channel carries.
struct ChannelSessions {
  Channel channel;
  std::vector<int64_t> session_ids;
};
std::vector<ChannelSessions> ChannelsOf(const std::vector<Session>& sessions);

// Any worker can publish: on each channel, the one that holds its lease in the database
// (FleetStore::HoldPublishing). The list of published jobs is in its memory alone. Its successor
// may publish up to a window of jobs once more, which is harmless, since leasing gives each to one.
// Not thread-safe.
class Publisher {
 public:
  // Borrows both.
  Publisher(FleetStore& fleet, JobQueue& queue, std::string owner)
      : fleet_(fleet), queue_(queue), owner_(std::move(owner)) {}

  // Refills every channel of `sessions` that this process holds or can take over, up to the window,
  // by priority and fair share (ChooseFairly); returns the number of new messages.
  Result<int64_t> Round(const std::vector<Session>& sessions, int64_t now_unix_ns);
  // Refills one channel, whichever process holds it.
  Result<int64_t> Refill(const ChannelSessions& channel);

 private:
  Result<bool> Holds(const Channel& channel, int64_t now_unix_ns);

  FleetStore& fleet_;
  JobQueue& queue_;
  const std::string owner_;
  std::map<Channel, int64_t> held_until_unix_ns_;
  std::map<Channel, std::set<QueuedJob>> published_;  // Not yet seen as leased.
  std::map<Channel, int64_t> last_session_ids_;       // FairChoice of the last published jobs.
};

}  // namespace attune
