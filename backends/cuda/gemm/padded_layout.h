// Which operands of a product are copied for wide loads, and the product of the copies.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/ops/gemm/gemm.h"

namespace attune::cuda {

// A stored matrix, in elements.
struct StoredMatrix {
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t leading = 0;
  int64_t stride = 0;    // From matrix to matrix.
  int64_t matrices = 0;  // 1 if the batch shares it.
  int element_bytes = 0;

  friend bool operator==(const StoredMatrix&, const StoredMatrix&) = default;
};

enum GemmOperand { kA = 0, kB = 1, kC = 2 };

StoredMatrix StoredAs(const Gemm& gemm, GemmOperand which);

// A product with columns at multiples of 16 bytes.
struct PaddedLayout {
  Gemm inner;                       // The product of the copies.
  std::array<bool, 3> is_copied{};  // A, B, C.

  // Size of the copy of one operand; 0 if there is none.
  size_t CopyBytes(GemmOperand which) const;
  // Workspace of the copies.
  size_t CopiesBytes() const;
};

// The ways to pad `gemm`, best guess first; none if every column starts at a multiple of 16 bytes
// already.
//   all      copies every operand with columns that do not
//   inputs   computes C in place; exists if A or B is copied beside it
//   filled   extents become multiples of 16 bytes, too, with zeros: for kernels that have no
//            cheap way to handle the rest of a tile. Not with a bias, which has no room for that.
std::vector<std::string> PaddingNames(const Gemm& gemm);

// REQUIRES: `padding` is one of PaddingNames(gemm). Fails as Validate does where the padded product
// exceeds a limit.
Result<PaddedLayout> LayOut(const Gemm& gemm, std::string_view padding);

// More than of other candidates: a product with odd columns is up to 4.8 times faster by copies,
// and its operands of gigabytes leave room for them.
inline constexpr int64_t kMostPaddedBytes = int64_t{1} << 30;

// The PaddingNames with copies of at most `limit_bytes` in total and a padded product within all
// limits. kUnsupported with the reason if there are none.
Result<std::vector<std::string>> PossiblePaddings(const Gemm& gemm,
                                                  int64_t limit_bytes = kMostPaddedBytes);

}  // namespace attune::cuda
