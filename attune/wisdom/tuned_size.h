// What tuning found out about a user's kernel, size by size.
#pragma once

#include <vector>

#include "attune/base/status.h"
#include "attune/kernel/kernel_file.h"
#include "attune/kernel/own_kernel.h"
#include "attune/problem/target.h"
#include "attune/record/record_store.h"
#include "attune/record/select.h"
#include "attune/space/config.h"

namespace attune {

struct TunedSize {
  kernel::OwnSizes sizes;
  Config config;       // The choice.
  double time_ns = 0;  // Of it, and of the default in the same set.
  double default_time_ns = 0;

  friend bool operator==(const TunedSize&, const TunedSize&) = default;
};

// Of two lists of the same names: Euclidean over log2(1 + size), so that 1000 x 1000 is near to
// 1100 x 900 and far from 1000000 x 1. Infinite where the names differ.
double SizeDistance(const kernel::OwnSizes& a, const kernel::OwnSizes& b);

// Those of `tuned`, nearest to `sizes` first; equally near ones stay in order. Borrows `tuned`.
std::vector<const TunedSize*> NearestFirst(const std::vector<TunedSize>& tuned,
                                           const kernel::OwnSizes& sizes);

// Of every size of `file`, as it is now, that `store` has a valid choice for at `here` and `now`.
// REQUIRES: file.own, and its reference was loaded (kernel::LoadReference).
Result<std::vector<TunedSize>> TunedSizesOf(RecordStore& store, const kernel::KernelFile& file,
                                            const Target& here, const Environment& now);

}  // namespace attune
