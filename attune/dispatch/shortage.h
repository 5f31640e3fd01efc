// What did not fit into a workspace, and by how little.
#pragma once

#include <cstdint>
#include <optional>

#include "attune/base/status.h"
#include "attune/problem/problem.h"
#include "attune/trial/candidate.h"

namespace attune {

class Shortage {
 public:
  // `candidate` needs `needed_bytes`, more than the limit.
  void Note(const Candidate& candidate, uint64_t needed_bytes);
  bool empty() const { return !least_.has_value(); }
  // kResourceExhausted with the candidate that needs least. REQUIRES: !empty().
  Status ToStatus(const Problem& problem, uint64_t limit_bytes) const;

 private:
  struct Need {
    Candidate candidate;
    uint64_t bytes = 0;
  };
  std::optional<Need> least_;
};

// The sentence of ToStatus, for one candidate.
Status TooLarge(const Candidate& candidate, uint64_t needed_bytes, const Problem& problem,
                uint64_t limit_bytes);

}  // namespace attune
