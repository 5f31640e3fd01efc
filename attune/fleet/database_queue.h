// A fleet without a queue: what is to be done is read from the database itself.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "attune/fleet/fleet_store.h"
#include "attune/queue/job_queue.h"

namespace attune {

// Gives what can be leased now, by priority and fair share, and keeps nothing: publishing,
// acknowledging and burying do nothing, and two that take at the same time may be given the same
// jobs, of which leasing gives each to one. A Take() that waits looks every 80 ms; sessions that
// are new are seen within half a second.
class DatabaseQueue final : public JobQueue {
 public:
  // Borrows `fleet`.
  explicit DatabaseQueue(FleetStore& fleet) : fleet_(fleet) {}

  Result<int64_t> Publish(const Channel&, std::span<const QueuedJob>) override { return 0; }
  Result<std::vector<Delivery>> Take(const Channel& channel, int64_t most,
                                     std::chrono::milliseconds wait) override;
  Status Acknowledge(const Delivery&) override { return Status::Ok(); }
  Status InProgress(const Delivery&) override { return Status::Ok(); }
  Status GiveBack(const Delivery&) override { return Status::Ok(); }
  Status Bury(const Delivery&, std::string_view) override { return Status::Ok(); }
  Result<ChannelLoad> Pending(const Channel&) override { return ChannelLoad(); }
  Result<std::vector<DeadLetter>> DeadLetters(const Channel&) override {
    return std::vector<DeadLetter>();
  }

 private:
  Result<std::vector<Delivery>> Look(const Channel& channel, int64_t most);
  Result<std::vector<Session>> Sessions();

  FleetStore& fleet_;
  std::mutex mutex_;  // Guards everything below.
  std::vector<Session> sessions_;
  int64_t read_ns_ = 0;
};

}  // namespace attune
