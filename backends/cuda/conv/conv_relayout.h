// Which tensors of a convolution are copied to another layout, and the convolution of the copies.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/ops/conv/conv.h"
#include "backends/cuda/driver/scratch.h"
#include "backends/cuda/layout/tensor_layout_arguments.h"

namespace attune::cuda {

// A convolution in another layout. Arrays are in the order of Operands(conv).
struct ConvRelayout {
  Conv inner;                       // The convolution of the copies.
  std::array<bool, 3> is_copied{};  // Where that is another order or number of elements in memory.
  std::array<size_t, 3> bytes{};    // Per tensor of `inner`.
  std::array<Relayout, 3> into{};   // From the tensor of the problem to that of `inner`,
  std::array<Relayout, 3> back{};   // and back; without addresses.

  // Workspace of the copies.
  size_t CopiesBytes() const;
};

// The ways to lay `conv` out anew, best guess first:
//   padded   every tensor channels-last, with channels that fill a multiple of 16 bytes, as
//            tensor cores read them; the added channels are zeros. Where the channels are no such
//            multiple and a tensor core may multiply; not with groups, because their channels are
//            neighbours
//   last     every tensor channels-last, where one is not
//   first    every tensor channels-first, where none is
// Omits the ways that copy nothing because there is one channel or one pixel. May be empty.
std::vector<std::string> RelayoutNames(const Conv& conv);

// Tensors that already have the layout are not copied. REQUIRES: `name` is one of the three,
// `padded` without groups only, and `conv` has no bias and is not transposed. Fails as Validate
// does where the inner convolution exceeds a limit.
Result<ConvRelayout> LayOutAnew(const Conv& conv, std::string_view name);

// The RelayoutNames with copies of at most `limit_bytes` in total and an inner convolution within
// all limits. kUnsupported with the reason if there are none. REQUIRES: `conv` as above.
Result<std::vector<std::string>> PossibleRelayouts(const Conv& conv,
                                                   int64_t limit_bytes = kMostScratchBytes);

}  // namespace attune::cuda
