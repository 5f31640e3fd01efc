#include "runtime/background_choice.h"

#include <chrono>

namespace attune {

BackgroundChoice::~BackgroundChoice() { Stop(); }

std::optional<ServedConfig> BackgroundChoice::Ask(const kernel::OwnSizes& sizes, Find find,
                                                  int64_t wait_ns) {
  std::unique_lock lock(mutex_);
  if (begun_.contains(sizes)) return Take(sizes);
  if (begun_.size() >= kMostSizes && !found_.empty()) {
    // Nobody has asked again.
    begun_.erase(found_.begin()->first);
    found_.erase(found_.begin());
  }
  if (begun_.size() >= kMostSizes || !StartThread()) return std::nullopt;
  begun_.insert(sizes);
  waiting_.emplace_back(sizes, std::move(find));
  changed_.notify_all();
  changed_.wait_for(lock, std::chrono::nanoseconds(wait_ns),
                    [&] { return found_.contains(sizes); });
  return Take(sizes);
}

std::optional<ServedConfig> BackgroundChoice::Take(const kernel::OwnSizes& sizes) {
  auto found = found_.extract(sizes);
  if (found.empty()) return std::nullopt;
  begun_.erase(sizes);
  return std::move(found.mapped());
}

bool BackgroundChoice::StartThread() {
  if (thread_.joinable()) return true;
  // Without the thread the default serves.
  return thread_.Start([this, stop = stop_.get_token()] { Work(stop); });
}

void BackgroundChoice::Work(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [&] { return !waiting_.empty(); }) && !stop.stop_requested()) {
    const auto [sizes, find] = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    ServedConfig served = find(stop);
    lock.lock();
    found_.insert_or_assign(sizes, std::move(served));
    changed_.notify_all();
  }
}

void BackgroundChoice::Stop() {
  stop_.request_stop();
  thread_.Join();
  stop_ = std::stop_source();
  const std::lock_guard lock(mutex_);
  begun_.clear();
  waiting_.clear();
  found_.clear();
}

}  // namespace attune
