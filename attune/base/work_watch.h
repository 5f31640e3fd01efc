// Long work of several threads that the waiting thread can stop.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <thread>

namespace attune {

// Returns false to stop the work. Called on the thread that waits, with the share of the work that
// is done, in [0, 1]. Null: never stops.
using GoOn = std::function<bool(double done)>;

// Thread-safe. Borrows `go_on`.
class WorkWatch {
 public:
  // Made by the thread that waits, for `total` units of work of any kind.
  WorkWatch(const GoOn& go_on, double total)
      : go_on_(go_on), total_(total), asker_(std::this_thread::get_id()) {}
  WorkWatch(const WorkWatch&) = delete;
  WorkWatch& operator=(const WorkWatch&) = delete;

  // Adds `units` of finished work. Returns false if the work must stop; its unfinished part is then
  // worth nothing. Call every few milliseconds on each thread.
  bool Note(double units) {
    const double done = done_.fetch_add(units) + units;
    if (go_on_ && std::this_thread::get_id() == asker_ && !stopped_ &&
        !go_on_(total_ > 0 ? std::min(done / total_, 1.0) : 0.0)) {
      stopped_ = true;
    }
    return !stopped_;
  }

  bool stopped() const { return stopped_; }

 private:
  const GoOn& go_on_;
  const double total_;
  const std::thread::id asker_;
  std::atomic<double> done_ = 0;
  std::atomic<bool> stopped_ = false;
};

}  // namespace attune
