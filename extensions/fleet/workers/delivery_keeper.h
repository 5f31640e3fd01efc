// Keeps deliveries of a queue from coming again while their jobs are worked on.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "extensions/fleet/queue/job_queue.h"

namespace attune {

// Runs on a thread of its own, three times within each `ack_wait`. If the queue cannot be reached,
// tries again the next time: a delivery that comes again meanwhile finds its job leased.
// Thread-safe.
class DeliveryKeeper {
 public:
  // Borrows `queue`.
  DeliveryKeeper(JobQueue& queue, std::chrono::milliseconds ack_wait);
  ~DeliveryKeeper();
  DeliveryKeeper(const DeliveryKeeper&) = delete;
  DeliveryKeeper& operator=(const DeliveryKeeper&) = delete;

  // Keeps these deliveries from now on, in place of the earlier ones.
  void Hold(std::vector<Delivery> deliveries);

 private:
  void Work();

  JobQueue& queue_;
  const std::chrono::milliseconds ack_wait_;
  std::mutex mutex_;  // Guards everything below.
  std::condition_variable changed_;
  std::vector<Delivery> deliveries_;
  bool is_ending_ = false;
  std::thread thread_;
};

}  // namespace attune
