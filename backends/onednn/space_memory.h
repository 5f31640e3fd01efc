// Spaces that were listed lately.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "attune/space/config_space.h"

namespace attune::onednn {

// Thread-safe. Keeps a few dozen: a run time asks for the space of one problem several times while
// it gets to know it, and the library takes ten milliseconds to list one.
class SpaceMemory {
 public:
  std::optional<ConfigSpace> Find(const std::string& key) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = spaces_.find(key);
    return found == spaces_.end() ? std::nullopt : std::optional<ConfigSpace>(found->second);
  }

  void Keep(std::string key, const ConfigSpace& space) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (spaces_.size() >= kMost) spaces_.clear();
    spaces_.insert_or_assign(std::move(key), space);
  }

 private:
  static constexpr size_t kMost = 64;

  mutable std::mutex mutex_;  // Guards spaces_.
  std::map<std::string, ConfigSpace> spaces_;
};

}  // namespace attune::onednn
