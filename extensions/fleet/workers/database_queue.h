// The queue of one machine: reads the jobs to do from the database itself.
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

// When it is empty, Take() fills it with jobs that can be leased then, by priority and fair share,
// so no process has to publish. Its deliveries belong to this process until their terms pass;
// another process on the same database may get the same jobs, and leasing gives each to one. A
// waiting Take() looks every 80 ms and finds new sessions within half a second.
class DatabaseQueue final : public JobQueue {
 public:
  // A job that was delivered and not leased, or queued again, is available again after a second.
  static constexpr QueueTerms kTerms{.duplicate_window = std::chrono::seconds(1)};

  // Borrows `fleet`. Redeliveries and duplicates use `now_ns`, as in a LocalQueue. REQUIRES:
  // CheckTerms(terms) is ok.
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
  // Adds up to `most` jobs that can be leased to the queue.
  Status Fill(const Channel& channel, int64_t most);
  Result<std::vector<Session>> Sessions();

  FleetStore& fleet_;
  LocalQueue given_;
  std::mutex mutex_;  // Guards everything below.
  std::vector<Session> sessions_;
  int64_t read_ns_ = 0;
  std::map<Channel, int64_t> last_session_ids_;  // FairChoice of the last deliveries.
};

}  // namespace attune
