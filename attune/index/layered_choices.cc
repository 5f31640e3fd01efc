#include <algorithm>
#include <set>
#include <utility>

#include "attune/base/fingerprint.h"
#include "attune/index/memory_choices.h"

namespace attune {
namespace {

// The results of all layers, upper ones first; the first failure if there are none.
template <class T, class Ask>
Result<std::vector<T>> Gathered(const std::vector<std::shared_ptr<const ChoiceSource>>& layers,
                                const Ask& ask) {
  std::vector<T> all;
  Status failure;
  for (const std::shared_ptr<const ChoiceSource>& layer : layers) {
    Result<std::vector<T>> found = ask(*layer);
    if (!found.ok()) {
      if (failure.ok()) failure = found.status();
      continue;
    }
    std::move(found->begin(), found->end(), std::back_inserter(all));
  }
  if (all.empty() && !failure.ok()) return failure;
  return all;
}

}  // namespace

LayeredChoices::LayeredChoices(std::vector<std::shared_ptr<const ChoiceSource>> layers)
    : layers_(std::move(layers)) {}

Result<std::vector<IndexedChoice>> LayeredChoices::Find(const Problem& problem) const {
  return Gathered<IndexedChoice>(layers_,
                                 [&](const ChoiceSource& layer) { return layer.Find(problem); });
}

Result<std::vector<Neighbour>> LayeredChoices::Nearest(const Problem& problem, size_t limit,
                                                       double max_distance) const {
  ATTUNE_ASSIGN_OR_RETURN(std::vector<Neighbour> all,
                          Gathered<Neighbour>(layers_, [&](const ChoiceSource& layer) {
                            return layer.Nearest(problem, limit, max_distance);
                          }));
  std::stable_sort(all.begin(), all.end(),
                   [](const Neighbour& a, const Neighbour& b) { return a.distance < b.distance; });
  std::set<Fingerprint> seen;
  std::vector<Neighbour> nearest;
  for (Neighbour& neighbour : all) {
    if (nearest.size() == limit) break;
    if (seen.insert(KeyOf(neighbour.problem)).second) nearest.push_back(std::move(neighbour));
  }
  return nearest;
}

std::vector<std::string> LayeredChoices::Unusable(const Problem& problem) const {
  std::vector<std::string> all;
  for (const std::shared_ptr<const ChoiceSource>& layer : layers_) {
    std::vector<std::string> reasons = layer->Unusable(problem);
    std::move(reasons.begin(), reasons.end(), std::back_inserter(all));
  }
  return all;
}

int64_t LayeredChoices::problem_count() const {
  int64_t count = 0;
  for (const std::shared_ptr<const ChoiceSource>& layer : layers_) count += layer->problem_count();
  return count;
}

}  // namespace attune
