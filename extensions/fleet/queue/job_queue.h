// Hands jobs to the workers of a fleet. docs/design/0036-a-fleet.md, docs/formats/queue.md.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/session/job_message.h"
#include "extensions/fleet/queue/channel.h"

namespace attune {

// The terms that every process on a queue must share.
struct QueueTerms {
  // A delivery comes again if it is neither acknowledged nor reported in progress for so long.
  std::chrono::milliseconds ack_wait{120'000};
  // After so many deliveries without an acknowledgement a message becomes a dead letter.
  int64_t most_deliveries = 5;
  // A message that is published again within this time is not added again.
  std::chrono::milliseconds duplicate_window{120'000};
};

// kInvalidArgument for a value that is not positive.
Status CheckTerms(const QueueTerms& terms);

// Bounds of each channel.
inline constexpr int64_t kMostQueued = 1024;       // Messages.
inline constexpr int64_t kMostTaken = 256;         // Deliveries of one Take().
inline constexpr int64_t kMostDeadLetters = 1024;  // The oldest go first.

// A message in the hands of the process that took it.
struct Delivery {
  Channel channel;
  QueuedJob job;
  int64_t times = 1;    // Number of deliveries, including this one.
  std::string receipt;  // Identifies it in the queue that gave it.
};

struct ChannelLoad {
  int64_t waiting = 0;  // Never delivered yet.
  int64_t taken = 0;    // Delivered, neither acknowledged nor buried.

  friend bool operator==(const ChannelLoad&, const ChannelLoad&) = default;
};

// A bounded window of the jobs to do; the database is authoritative. A message may be outdated,
// duplicated or lost, so a worker leases its job in the database before anything else, and
// acknowledges messages of jobs that cannot be leased. Messages come at least once, in about the
// order in which they were published.
//
// Thread-safe. Every call but Take() ends within a bound of the implementation. kUnavailable says
// that the queue cannot be reached now; any call can then be repeated without harm.
class JobQueue {
 public:
  virtual ~JobQueue() = default;

  // Adds `jobs` in their order. A job that a server does not confirm in time is published again
  // behind the others. Returns how many of them had not been published within the window of
  // duplicates. When it returns, a queue on a server has them on its disk. kResourceExhausted if
  // the channel reaches kMostQueued: earlier jobs are added, and perhaps some later ones.
  // kInvalidArgument, with nothing published, for ids below 1 and attempts below 0.
  virtual Result<int64_t> Publish(const Channel& channel, std::span<const QueuedJob> jobs) = 0;

  // Up to `most` (1 to kMostTaken) deliveries, exclusive to the caller until their terms pass.
  // Waits for the first for up to `wait` (0 to a minute); empty if there is none then. Messages
  // that cannot be read or were delivered too often become dead letters and are not returned.
  virtual Result<std::vector<Delivery>> Take(const Channel& channel, int64_t most,
                                             std::chrono::milliseconds wait) = 0;

  // Each of these is about one or several deliveries. A delivery past its terms is still handled
  // while its message exists, and otherwise ignored. kInvalidArgument for a receipt of another
  // queue.

  // The message is done, and does not come again.
  virtual Status Acknowledge(const Delivery& delivery) = 0;
  // Acknowledges many. A queue on a server may send them without waiting for its answer: a lost one
  // comes again. Returns the first failure; the others are acknowledged all the same.
  virtual Status AcknowledgeAll(std::span<const Delivery> deliveries);
  // Restarts its time. Three calls within QueueTerms::ack_wait keep it.
  virtual Status InProgress(const Delivery& delivery) = 0;
  // The message comes again at once, to the next Take().
  virtual Status GiveBack(const Delivery& delivery) = 0;
  // It becomes a dead letter, for `reason`.
  virtual Status Bury(const Delivery& delivery, std::string_view reason) = 0;

  // The load, from which publishers derive how much to refill.
  virtual Result<ChannelLoad> Pending(const Channel& channel) = 0;
  // Oldest first, up to kMostDeadLetters.
  virtual Result<std::vector<DeadLetter>> DeadLetters(const Channel& channel) = 0;
};

// Checks that implementations make first.
Status CheckPublished(std::span<const QueuedJob> jobs);
Status CheckTaking(int64_t most, std::chrono::milliseconds wait);
// The reason to bury a message that was delivered `times` times.
std::string DeliveredTooOften(int64_t times);

}  // namespace attune
