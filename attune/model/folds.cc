#include "attune/model/folds.h"

#include <map>

#include "attune/base/random.h"

namespace attune {

std::vector<size_t> FoldsByConfiguration(std::span<const Sample> samples, size_t folds,
                                         uint64_t seed) {
  std::map<uint64_t, size_t> fold_of;
  for (const Sample& sample : samples) fold_of[sample.configuration] = 0;
  std::vector<uint64_t> order;
  for (const auto& [configuration, fold] : fold_of) order.push_back(configuration);
  Random random(seed);
  random.Shuffle(std::span(order));
  for (size_t i = 0; i < order.size(); ++i) fold_of[order[i]] = i % folds;
  std::vector<size_t> result;
  for (const Sample& sample : samples) result.push_back(fold_of[sample.configuration]);
  return result;
}

}  // namespace attune
