// Records for tests of this module.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "attune/base/fingerprint.h"
#include "attune/problem/problem.h"
#include "attune/problem/target.h"
#include "attune/trial/candidate.h"
#include "attune/trial/choice_source.h"

namespace attune {

inline Target TestTarget(const std::string& device = "Test device") {
  return {"test", device, "v1", 2, {}};
}
inline Environment TestEnvironment(const std::string& quick_version = "1") {
  return {{"library.quick", quick_version}, {"library.slow", "1"}, {"policy.wait", "passive"}};
}

// What a test says is known. Thread-safe.
class TestChoices final : public ChoiceSource {
 public:
  Result<std::vector<IndexedChoice>> Find(const Problem& problem) const override {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!damage_.ok()) return damage_;
    const auto found = choices_.find(KeyOf(problem));
    return found == choices_.end() ? std::vector<IndexedChoice>() : found->second;
  }
  Result<std::vector<Neighbour>> Nearest(const Problem& problem, size_t limit,
                                         double max_distance) const override {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!damage_.ok()) return damage_;
    std::vector<Neighbour> neighbours;
    for (const Neighbour& neighbour : neighbours_) {
      if (neighbour.distance <= max_distance && !(neighbour.problem == problem)) {
        neighbours.push_back(neighbour);
      }
    }
    neighbours.resize(std::min(limit, neighbours.size()));
    return neighbours;
  }
  int64_t problem_count() const override {
    const std::lock_guard<std::mutex> lock(mutex_);
    return static_cast<int64_t>(choices_.size());
  }

  // Puts `choice` before what is known of `problem`.
  void Add(const Problem& problem, IndexedChoice choice) {
    const std::lock_guard<std::mutex> lock(mutex_);
    auto& known = choices_[KeyOf(problem)];
    known.insert(known.begin(), std::move(choice));
    known.resize(std::min(known.size(), kMaxChoices));
  }
  // To be called from the nearest one on.
  void AddNeighbour(const Problem& problem, double distance) {
    const std::lock_guard<std::mutex> lock(mutex_);
    neighbours_.push_back({problem, distance});
  }
  void Damage(Status damage) {
    const std::lock_guard<std::mutex> lock(mutex_);
    damage_ = std::move(damage);
  }

 private:
  mutable std::mutex mutex_;  // Guards everything below.
  std::map<Fingerprint, std::vector<IndexedChoice>> choices_;
  std::vector<Neighbour> neighbours_;
  Status damage_;
};

// `candidates`, best first, 100 ns, 200 ns, ... on this machine.
inline IndexedChoice ChoiceOf(const std::vector<Candidate>& candidates) {
  IndexedChoice choice;
  choice.target = std::make_shared<const Target>(TestTarget());
  choice.environment = std::make_shared<const Environment>(TestEnvironment());
  for (const Candidate& candidate : candidates) {
    choice.ranking.push_back(
        {candidate, 100.0 * static_cast<double>(choice.ranking.size() + 1), -1, 0, -1});
  }
  return choice;
}

}  // namespace attune
