// The queue of one machine: what is to be done is read from the database itself.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "attune/base/steady_time.h"
#include "attune/session/fleet_store.h"
#include "extensions/fleet/queue/job_queue.h"
#include "extensions/fleet/queue/local_queue.h"

namespace attune {

// Fills itself when it is empty and somebody takes, with what can be leased then, by priority and
// fair share, so that nobody has to publish. What it gives is this process's until its terms pass;
// another process on the same database may be given the same jobs, of which leasing gives each to
// one. A Take() that waits looks every 80 ms; sessions that are new are seen within half a second.
class DatabaseQueue final : public JobQueue {
 public:
  // A job that was given and not leased, or is to be done again, is there again after a second.
  static constexpr QueueTerms kTerms{.duplicate_window = std::chrono::seconds(1)};

  // Borrows `fleet`. Redeliveries and duplicates go by `now_ns`, as those of a LocalQueue.
  // REQUIRES: CheckTerms(terms) is ok.
  explicit DatabaseQueue(FleetStore& fleet, const QueueTerms& terms = kTerms,
                         std::function<int64_t()> now_ns = SteadyNowNs)
      : fleet_(fleet), given_(terms, std::move(now_ns)) {}

  Result<int64_t> Publish(const Channel& channel, std::span<const QueuedJob> jobs) override {
    return given_.Publish(channel, jobs);
  }
  Result<std::vector<Delivery>> Take(const Channel& channel, int64_t most,
                                     std::chrono::milliseconds wait) override;
  Status Acknowledge(const Delivery& delivery) override { return given_.Acknowledge(delivery); }
  Status InProgress(const Delivery& delivery) override { return given_.InProgress(delivery); }
  Status GiveBack(const Delivery& delivery) override { return given_.GiveBack(delivery); }
  Status Bury(const Delivery& delivery, std::string_view reason) override {
    return given_.Bury(delivery, reason);
  }
  Result<ChannelLoad> Pending(const Channel& channel) override { return given_.Pending(channel); }
  Result<std::vector<DeadLetter>> DeadLetters(const Channel& channel) override {
    return given_.DeadLetters(channel);
  }

 private:
  // Puts up to `most` of what can be leased where it is taken.
  Status Fill(const Channel& channel, int64_t most);
  Result<std::vector<Session>> Sessions();

  FleetStore& fleet_;
  LocalQueue given_;
  std::mutex mutex_;  // Guards everything below.
  std::vector<Session> sessions_;
  int64_t read_ns_ = 0;
  std::map<Channel, int64_t> last_session_ids_;  // FairChoice of what was given last.
};

}  // namespace attune
