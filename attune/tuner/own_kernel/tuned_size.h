// Tuning results of a user's kernel, size by size.
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
  double time_ns = 0;  // Time of it, and of the default in the same set.
  double default_time_ns = 0;

  friend bool operator==(const TunedSize&, const TunedSize&) = default;
};

// Those of `tuned`, nearest to `sizes` first (SizeDistance); equally near ones stay in order.
// Borrows `tuned`.
std::vector<const TunedSize*> NearestFirst(const std::vector<TunedSize>& tuned,
                                           const kernel::OwnSizes& sizes);

// Returns every size of `file`, as it is now, for which `store` has a valid choice at `here` and
// `now` that the predicates of `file` allow.
// REQUIRES: file.own, and its reference was loaded (kernel::LoadReference).
Result<std::vector<TunedSize>> TunedSizesOf(RecordStore& store, const kernel::KernelFile& file,
                                            const Target& here, const Environment& now);

}  // namespace attune
