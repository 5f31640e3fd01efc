#include "attune/tunable/dynamic_dims.h"

#include <array>
#include <cstdint>

namespace attune {
namespace {

// Dimensions that a thread declares for its own calls: no other thread sees them, so they are no
// shared state. Each takes a byte: the library may be opened late, and then its thread-locals must
// fit into the space that a process reserves for all of those.
struct DimsStack {
  std::array<uint8_t, kMaxDynamicDimsDepth> dims;
  size_t size = 0;
  // Guards above the limit change nothing but are counted, so that their ends match.
  size_t overflow = 0;
};

constexpr uint8_t kPowerOfTwoBit = 0x80;

uint8_t Packed(const DynamicDims& dims) {
  const uint8_t reach = dims.reach == Reach::kPowerOfTwo ? kPowerOfTwoBit : uint8_t{0};
  return static_cast<uint8_t>(dims.mask | reach);
}

DynamicDims Unpacked(uint8_t packed) {
  const bool reaches_far = (packed & kPowerOfTwoBit) == 0;
  return {static_cast<unsigned>(packed & ~kPowerOfTwoBit),
          reaches_far ? Reach::kAnySize : Reach::kPowerOfTwo};
}

DimsStack& Stack() {
  thread_local constinit DimsStack stack{};
  return stack;
}

}  // namespace

constinit thread_local size_t dynamic_dims_depth = 0;

DynamicDims InBlasFrame(const DynamicDims& row_major) {
  DynamicDims dims = row_major;
  dims.mask &= ~(kDynamicM | kDynamicN);
  if ((row_major.mask & kDynamicM) != 0) dims.mask |= kDynamicN;
  if ((row_major.mask & kDynamicN) != 0) dims.mask |= kDynamicM;
  return dims;
}

bool PushDynamicDims(const DynamicDims& dims) {
  DimsStack& stack = Stack();
  if (stack.size == stack.dims.size()) return false;
  stack.dims[stack.size++] = Packed(dims);
  dynamic_dims_depth = stack.size;
  return true;
}

bool PopDynamicDims() {
  DimsStack& stack = Stack();
  if (stack.size == 0) return false;
  dynamic_dims_depth = --stack.size;
  return true;
}

DynamicDimsGuard::DynamicDimsGuard(const DynamicDims& dims) {
  if (!PushDynamicDims(dims)) ++Stack().overflow;
}

DynamicDimsGuard::~DynamicDimsGuard() {
  DimsStack& stack = Stack();
  if (stack.overflow > 0) {
    --stack.overflow;
  } else {
    PopDynamicDims();
  }
}

DynamicDims CurrentDynamicDims() {
  const DimsStack& stack = Stack();
  return stack.size == 0 ? DynamicDims{} : Unpacked(stack.dims[stack.size - 1]);
}

}  // namespace attune
