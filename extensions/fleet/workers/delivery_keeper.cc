#include "extensions/fleet/workers/delivery_keeper.h"

#include <utility>

namespace attune {

DeliveryKeeper::DeliveryKeeper(JobQueue& queue, std::chrono::milliseconds ack_wait)
    : queue_(queue), ack_wait_(ack_wait), thread_([this] { Work(); }) {}

DeliveryKeeper::~DeliveryKeeper() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void DeliveryKeeper::Hold(std::vector<Delivery> deliveries) {
  const std::lock_guard lock(mutex_);
  deliveries_ = std::move(deliveries);
}

void DeliveryKeeper::Work() {
  constexpr int kTimes = 3;
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, ack_wait_ / kTimes, [&] { return is_ending_; })) {
    const std::vector<Delivery> deliveries = deliveries_;
    lock.unlock();
    for (const Delivery& delivery : deliveries) (void)queue_.InProgress(delivery);
    lock.lock();
  }
}

}  // namespace attune
