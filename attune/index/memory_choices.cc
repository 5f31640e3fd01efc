#include "attune/index/memory_choices.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include "attune/base/fingerprint.h"
#include "attune/index/neighbour.h"

namespace attune {
namespace {

struct Entry {
  Problem problem;
  Position position = {};
  std::vector<IndexedChoice> choices;  // Newest first.
};

// Targets and environments are interned, so equal ones are the same.
bool CompeteWithEachOther(const IndexedChoice& a, const IndexedChoice& b) {
  return a.target == b.target && a.environment == b.environment && a.cache == b.cache;
}

void AddNewest(std::vector<IndexedChoice>& choices, IndexedChoice choice) {
  const auto same = std::find_if(choices.begin(), choices.end(), [&](const IndexedChoice& other) {
    return CompeteWithEachOther(other, choice);
  });
  if (same != choices.end()) {
    if (same->revision >= choice.revision) return;
    choices.erase(same);
  }
  const auto place = std::find_if(choices.begin(), choices.end(), [&](const IndexedChoice& other) {
    return other.revision < choice.revision;
  });
  choices.insert(place, std::move(choice));
  if (choices.size() > kMaxChoices) choices.pop_back();
}

// One copy of each value, found by its text.
template <class T>
void Intern(std::unordered_map<std::string, std::shared_ptr<const T>>& values,
            std::shared_ptr<const T>& value) {
  value = values.try_emplace(Text(*value), value).first->second;
}

struct FoundProblem {
  double distance = 0;
  Fingerprint key;
  const Entry* entry = nullptr;

  bool operator<(const FoundProblem& other) const {
    return std::pair(distance, key) < std::pair(other.distance, other.key);
  }
};

}  // namespace

struct MemoryChoices::Contents {
  mutable std::shared_mutex mutex;  // Guards the members below.
  std::map<Fingerprint, Entry> entries;
  std::unordered_map<std::string, std::vector<Fingerprint>> families;
  std::unordered_map<std::string, std::shared_ptr<const Target>> targets;
  std::unordered_map<std::string, std::shared_ptr<const Environment>> environments;
};

MemoryChoices::MemoryChoices() : contents_(std::make_unique<Contents>()) {}

MemoryChoices::~MemoryChoices() = default;

void MemoryChoices::Add(const Problem& problem, IndexedChoice choice) {
  const Fingerprint key = KeyOf(problem);
  const std::string family = FamilyOf(problem);
  const std::unique_lock lock(contents_->mutex);
  Intern(contents_->targets, choice.target);
  Intern(contents_->environments, choice.environment);
  const auto [found, is_new] = contents_->entries.try_emplace(key);
  Entry& entry = found->second;
  if (is_new) {
    entry.problem = problem;
    entry.position = PositionOf(problem);
    if (!family.empty()) contents_->families[family].push_back(key);
  }
  AddNewest(entry.choices, std::move(choice));
}

Result<std::vector<IndexedChoice>> MemoryChoices::Find(const Problem& problem) const {
  // Most overlays of an index are empty, and a key takes longer than all the rest.
  if (problem_count() == 0) return std::vector<IndexedChoice>();
  const Fingerprint key = KeyOf(problem);
  const std::shared_lock lock(contents_->mutex);
  const auto found = contents_->entries.find(key);
  if (found == contents_->entries.end()) return std::vector<IndexedChoice>();
  return found->second.choices;
}

Result<std::vector<Neighbour>> MemoryChoices::Nearest(const Problem& problem, size_t limit,
                                                      double max_distance) const {
  std::vector<Neighbour> neighbours;
  if (problem_count() == 0) return neighbours;
  const std::string family = FamilyOf(problem);
  const Fingerprint own_key = KeyOf(problem);
  const Position position = PositionOf(problem);
  const std::shared_lock lock(contents_->mutex);
  const auto members = contents_->families.find(family);
  if (members == contents_->families.end()) return neighbours;
  std::vector<FoundProblem> found;
  for (const Fingerprint& key : members->second) {
    const Entry& entry = contents_->entries.at(key);
    const double distance = Distance(position, entry.position);
    if (key != own_key && distance <= max_distance) found.push_back({distance, key, &entry});
  }
  const size_t count = std::min(limit, found.size());
  std::partial_sort(found.begin(), found.begin() + static_cast<ptrdiff_t>(count), found.end());
  for (size_t i = 0; i < count; ++i) {
    neighbours.push_back({found[i].entry->problem, found[i].distance});
  }
  return neighbours;
}

int64_t MemoryChoices::problem_count() const {
  const std::shared_lock lock(contents_->mutex);
  return static_cast<int64_t>(contents_->entries.size());
}

}  // namespace attune
