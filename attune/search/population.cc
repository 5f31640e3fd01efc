#include "attune/search/population.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace attune {
namespace {

bool IsFaster(const Individual& a, const Individual& b) { return a.time_ns < b.time_ns; }

}  // namespace

const Individual& Population::Tournament(Random& random) const {
  assert(!members_.empty());
  const Individual& a = members_[random.Below(members_.size())];
  const Individual& b = members_[random.Below(members_.size())];
  return IsFaster(b, a) ? b : a;
}

const Individual& Population::Fastest() const {
  return *std::min_element(members_.begin(), members_.end(), IsFaster);
}

void Population::Consider(Individual individual) {
  if (members_.size() < limit_) {
    members_.push_back(std::move(individual));
    return;
  }
  const auto slowest = std::max_element(members_.begin(), members_.end(), IsFaster);
  if (IsFaster(individual, *slowest)) *slowest = std::move(individual);
}

}  // namespace attune
