#include "attune/search/start.h"

#include <cassert>

#include "attune/search/config_digits.h"

namespace attune {

Start::Start(const ConfigSpace& space, const SearcherOptions& options) : head_(options.head) {
  assert(head_ >= 1 && head_ <= space.size());
  if (!options.elsewhere.empty()) prior_.emplace(ConfigDigits(space), options.elsewhere);
}

bool Start::Done() const {
  return next_of_head_ == head_ && (!prior_.has_value() || prior_->Done());
}

uint64_t Start::Next() {
  assert(!Done());
  const bool is_guess = !asked_.empty() && prior_.has_value() && !prior_->Done();
  const uint64_t index = is_guess ? prior_->Next() : next_of_head_;
  if (asked_.empty() && prior_.has_value()) prior_->WillTry(index);
  asked_.insert(index);
  while (next_of_head_ < head_ && asked_.contains(next_of_head_)) ++next_of_head_;
  return index;
}

void Start::Tell(uint64_t index, const Answer& answer) {
  if (prior_.has_value()) prior_->Tell(index, answer.time_ns);
}

}  // namespace attune
