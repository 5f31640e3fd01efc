// Initial content of the buffers of a user's kernel.
#pragma once

#include <cstddef>
#include <cstdint>

#include "attune/base/data_type.h"
#include "attune/problem/own_kernel.h"

namespace attune {

// Elements [first, first + count) of a buffer of `type` that starts at `memory`, rounded to the
// type; integers saturate. Element i depends on `seed` and i alone, so that threads agree.
struct FillSlice {
  int64_t first = 0;
  int64_t count = 0;
};
void FillElements(const BufferFill& fill, DataType type, uint64_t seed, FillSlice slice,
                  std::byte* memory);

}  // namespace attune
