// How jobs are handed to the workers of a fleet. docs/design/0036-a-fleet.md,
// docs/formats/queue.md.
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

// What every process on a queue has to agree upon.
struct QueueTerms {
  // A delivery that is neither acknowledged nor said to be in progress for so long comes again.
  std::chrono::milliseconds ack_wait{120'000};
  // After so many deliveries without an acknowledgement a message becomes a dead letter.
  int64_t most_deliveries = 5;
  // For so long after it was published, a message that is published again is not put there again.
  std::chrono::milliseconds duplicate_window{120'000};
};

// kInvalidArgument for what is not positive.
Status CheckTerms(const QueueTerms& terms);

// Bounds of each channel.
inline constexpr int64_t kMostQueued = 1024;       // Messages.
inline constexpr int64_t kMostTaken = 256;         // Deliveries of one Take().
inline constexpr int64_t kMostDeadLetters = 1024;  // The oldest go first.

// A message in the hands of who took it.
struct Delivery {
  Channel channel;
  QueuedJob job;
  int64_t times = 1;    // How often it was delivered, this time included.
  std::string receipt;  // By which the queue that gave it knows it.
};

struct ChannelLoad {
  int64_t waiting = 0;  // Never delivered yet.
  int64_t taken = 0;  // Delivered, and neither acknowledged nor buried: in work, or to come again.

  friend bool operator==(const ChannelLoad&, const ChannelLoad&) = default;
};

// A bounded window of the jobs that are to be done, which the database knows better: whatever is
// here may be old, there twice or lost, so whoever takes a job leases it in the database before
// anything else, and acknowledges what cannot be leased. Messages come at least once, in about the
// order in which they were published.
//
// Thread-safe. Every call but Take() ends within a bound of the implementation; kUnavailable says
// that the queue cannot be reached now, and any call may then be made again without harm.
class JobQueue {
 public:
  virtual ~JobQueue() = default;

  // Puts `jobs` there in their order, except that one of which a server does not say in time that
  // it has it is published again behind the others. Returns how many of them had not been published
  // within the window of duplicates. When it returns, a queue on a server has them on its disk.
  // kResourceExhausted if the channel has kMostQueued then; those before are there, and perhaps
  // some behind.
  // kInvalidArgument, with nothing published, for ids below 1 and attempts below 0.
  virtual Result<int64_t> Publish(const Channel& channel, std::span<const QueuedJob> jobs) = 0;

  // Up to `most` (1 to kMostTaken) deliveries, which nobody else has until their terms pass. Waits
  // for the first for up to `wait` (0 to a minute); empty if there is none then. Messages that
  // cannot be read or were delivered too often become dead letters and are not given.
  virtual Result<std::vector<Delivery>> Take(const Channel& channel, int64_t most,
                                             std::chrono::milliseconds wait) = 0;

  // Each of these is about one delivery, or several. Of one whose terms have passed they work, too,
  // as long as its message is there, and otherwise do nothing. kInvalidArgument for a receipt that
  // is none of this queue's.

  // It is dealt with, and does not come again.
  virtual Status Acknowledge(const Delivery& delivery) = 0;
  // The same of many, of which a queue on a server may be told without waiting for its answer: one
  // that is lost comes again. The first failure; the others are acknowledged all the same.
  virtual Status AcknowledgeAll(std::span<const Delivery> deliveries);
  // Its time begins anew. Three times within QueueTerms::ack_wait keep it.
  virtual Status InProgress(const Delivery& delivery) = 0;
  // It comes again at once, to whoever takes next.
  virtual Status GiveBack(const Delivery& delivery) = 0;
  // It becomes a dead letter, for `reason`.
  virtual Status Bury(const Delivery& delivery, std::string_view reason) = 0;

  // How much is there, which says how much to refill.
  virtual Result<ChannelLoad> Pending(const Channel& channel) = 0;
  // Oldest first, up to kMostDeadLetters.
  virtual Result<std::vector<DeadLetter>> DeadLetters(const Channel& channel) = 0;
};

// What implementations check first.
Status CheckPublished(std::span<const QueuedJob> jobs);
Status CheckTaking(int64_t most, std::chrono::milliseconds wait);
// The reason for which a message that was delivered `times` times is buried.
std::string DeliveredTooOften(int64_t times);

}  // namespace attune
