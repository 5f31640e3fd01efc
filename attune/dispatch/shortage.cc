#include "attune/dispatch/shortage.h"

#include <fmt/format.h>

namespace attune {

void Shortage::Note(const Candidate& candidate, uint64_t needed_bytes) {
  if (!least_.has_value() || needed_bytes < least_->bytes) least_ = {candidate, needed_bytes};
}

Status Shortage::ToStatus(const Problem& problem, uint64_t limit_bytes) const {
  return TooLarge(least_->candidate, least_->bytes, problem, limit_bytes);
}

Status TooLarge(const Candidate& candidate, uint64_t needed_bytes, const Problem& problem,
                uint64_t limit_bytes) {
  return ResourceExhausted(
      fmt::format("{} needs {} bytes of workspace for {}, above the limit of {}.", Text(candidate),
                  needed_bytes, Text(problem), limit_bytes));
}

}  // namespace attune
