// Finds out beside the program which config serves a size of its own kernel.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <utility>

#include "attune/base/guest_thread.h"
#include "attune/kernel/own_kernel.h"
#include "attune/tuner/own_kernel/config_choice.h"

namespace attune {

// One size after the other, on a thread of its own that is started when there is a first one. Used
// by one thread.
class BackgroundChoice {
 public:
  // Runs on that thread, must not throw, and ends soon once it is asked to stop.
  using Find = std::function<ServedConfig(const std::stop_token& stop)>;

  // Sizes that wait to be found out or to be taken; of the latter one is forgotten for a new one.
  static constexpr size_t kMostSizes = 64;

  BackgroundChoice() = default;
  // Stop().
  ~BackgroundChoice();
  BackgroundChoice(const BackgroundChoice&) = delete;
  BackgroundChoice& operator=(const BackgroundChoice&) = delete;

  // What `find` found for `sizes`, which is then forgotten; nothing as long as it has not. Who asks
  // for the first time waits for up to `wait_ns`.
  std::optional<ServedConfig> Ask(const kernel::OwnSizes& sizes, Find find, int64_t wait_ns);

  // Ends what is being found out, and forgets all sizes.
  void Stop();

 private:
  // Whether there is a thread. REQUIRES: mutex_ is held.
  bool StartThread();
  void Work(const std::stop_token& stop);
  std::optional<ServedConfig> Take(const kernel::OwnSizes& sizes);

  std::mutex mutex_;  // Guards everything but the thread.
  std::condition_variable_any changed_;
  std::set<kernel::OwnSizes> begun_;
  std::deque<std::pair<kernel::OwnSizes, Find>> waiting_;
  std::map<kernel::OwnSizes, ServedConfig> found_;
  std::stop_source stop_;  // Stops thread_.
  GuestThread thread_;
};

}  // namespace attune
