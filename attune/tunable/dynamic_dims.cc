#include "attune/tunable/dynamic_dims.h"

#include <array>

namespace attune {
namespace {

// What a thread says of its own calls: no other thread sees it, so it is no shared state.
struct DimsStack {
  std::array<DynamicDims, kMaxDynamicDimsDepth> dims;
  size_t size = 0;
  // Guards above the limit change nothing but are counted, so that their ends match.
  size_t overflow = 0;
};

DimsStack& Stack() {
  thread_local DimsStack stack;
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
  stack.dims[stack.size++] = dims;
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
  return stack.size == 0 ? DynamicDims{} : stack.dims[stack.size - 1];
}

}  // namespace attune
