#include "attune/tuner/spare_children.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace attune {
namespace {

// A child that does not come up says nothing about the candidate: the machine was busy, or out of
// processes.
constexpr int kStartAttempts = 3;

}  // namespace

SpareChildren::SpareChildren(const ChildOptions& options, size_t kept, size_t ahead)
    : options_(options), kept_(kept), most_(kept + ahead) {}

SpareChildren::~SpareChildren() {
  // All at once: each takes a moment to be gone.
  std::vector<DyingChild> dying;
  for (ChildProcess& spare : spares_) dying.push_back(spare.End());
}

Result<ChildProcess> SpareChildren::Take() {
  {
    const std::lock_guard lock(mutex_);
    std::optional<ChildProcess> spare;
    while (!spare.has_value() && !spares_.empty()) {
      if (!spares_.front().HasEnded()) spare.emplace(std::move(spares_.front()));
      spares_.pop_front();
    }
    taken_.notify_all();
    if (spare.has_value()) return std::move(*spare);
  }
  return StartAnother();
}

Result<ChildProcess> SpareChildren::TakeListening(const std::function<bool()>& go_on) {
  for (int attempt = 1;; ++attempt) {
    // What killed one spare may have killed them all.
    auto child = attempt == 1 ? Take() : StartAnother();
    if (child.ok()) {
      child->SetGoOn(go_on);
      if (child->AwaitListening() || child->was_given_up()) return child;
    }
    if (attempt < kStartAttempts) continue;
    if (!child.ok()) return child;
    return Unavailable(
        fmt::format("The evaluator '{}' did not come up.", options_.program.string()));
  }
}

Result<ChildProcess> SpareChildren::TakeReady(const Assignment& assignment) {
  for (int attempt = 1;; ++attempt) {
    // What killed one spare may have killed them all.
    auto child = attempt == 1 ? Take() : StartAnother();
    const Status ready = child.ok() ? child->Greet(assignment) : child.error();
    if (ready.ok()) return child;
    if (attempt == kStartAttempts) return ready;
  }
}

void SpareChildren::Supply(size_t needed, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  size_t missing = needed + kept_ - std::min(spares_.size(), needed + kept_);
  for (; missing > 0; --missing) {
    taken_.wait(lock, stop, [this] { return spares_.size() < most_; });
    if (stop.stop_requested()) return;
    lock.unlock();
    auto child = ChildProcess::Spawn(options_, arguments_);
    if (!child.ok()) return;
    lock.lock();
    spares_.push_back(std::move(*child));
  }
}

void SpareChildren::DropEnded() {
  const std::lock_guard lock(mutex_);
  std::erase_if(spares_, [](const ChildProcess& spare) { return spare.HasEnded(); });
}

void SpareChildren::Settle() {
  const std::lock_guard lock(mutex_);
  std::erase_if(spares_,
                [](ChildProcess& spare) { return !spare.AwaitListening() || spare.HasEnded(); });
}

}  // namespace attune
