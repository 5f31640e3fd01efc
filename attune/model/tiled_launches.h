// Launches by SEER's tile formulas, where no other source knows more.
#pragma once

#include <optional>

#include "attune/model/launch_source.h"
#include "attune/problem/target.h"

namespace attune {

// Knows cuDNN's legacy algorithm 1 (implicit product with precomputed indices) alone, because only
// its tile follows from the layer by itself: forward, square, f32 without tensor cores, NCHW. The
// signature is SEER's name of the variant. The number of blocks that fit is unknown: SEER's are
// those of a Titan Xp. Thread-safe.
class TiledLaunches final : public LaunchSource {
 public:
  explicit TiledLaunches(const Target& target) : multiprocessors_(target.compute_units) {}

  std::optional<LaunchProfile> Find(const Problem& problem,
                                    const Candidate& candidate) const override;

 private:
  const int64_t multiprocessors_;
};

}  // namespace attune
