// Sizes of a GEMM that change from call to call, so that one result may serve them all.
#pragma once

#include <cstddef>

namespace attune {

// Bits of DynamicDims::mask.
inline constexpr unsigned kDynamicM = 1;
inline constexpr unsigned kDynamicN = 2;
inline constexpr unsigned kDynamicK = 4;
inline constexpr unsigned kDynamicBatch = 8;

// How far a result reaches along a dynamic dimension.
enum class Reach {
  kAnySize,     // "*": every size.
  kPowerOfTwo,  // "*65-128": the sizes up to the next power of two, above the one before.
};

// In the frame of Gemm, which is that of BLAS: column-major.
struct DynamicDims {
  unsigned mask = 0;
  Reach reach = Reach::kAnySize;

  bool empty() const { return mask == 0; }
  friend bool operator==(const DynamicDims&, const DynamicDims&) = default;
};

// The mask of a row-major caller, which computes the transposed GEMM: M and N change places.
DynamicDims InBlasFrame(const DynamicDims& row_major);

// While it lives, lookups of this thread have these dynamic dimensions: the API layer asks
// CurrentDynamicDims() and passes the value down. Guards nest, the innermost one counts; destroy
// them in reverse order.
class DynamicDimsGuard {
 public:
  explicit DynamicDimsGuard(const DynamicDims& dims);
  ~DynamicDimsGuard();
  DynamicDimsGuard(const DynamicDimsGuard&) = delete;
  DynamicDimsGuard& operator=(const DynamicDimsGuard&) = delete;
};

// Nothing dynamic if no guard lives in this thread.
DynamicDims CurrentDynamicDims();

// How many dynamic dims this thread has stacked, for the path of every call: one load.
extern constinit thread_local size_t dynamic_dims_depth [[gnu::tls_model("initial-exec")]];
inline bool HasDynamicDims() { return dynamic_dims_depth != 0; }

// The same for callers without scopes. Push fails at kMaxDynamicDimsDepth, pop on an empty stack.
inline constexpr size_t kMaxDynamicDimsDepth = 64;
bool PushDynamicDims(const DynamicDims& dims);
bool PopDynamicDims();

}  // namespace attune
