#include "attune/base/stack_room.h"

#include <pthread.h>

#include "attune/base/process_room.h"

namespace attune {
namespace {

// The floor if the bounds are unknown.
constexpr uintptr_t kNowhere = UINTPTR_MAX;

AmpleStack BoundsOfThisThread() {
  pthread_attr_t attributes;
  if (::pthread_getattr_np(::pthread_self(), &attributes) != 0) return {kNowhere, 0};
  void* low = nullptr;
  size_t size = 0;
  size_t guard = 0;
  const bool is_known = ::pthread_attr_getstack(&attributes, &low, &size) == 0 &&
                        ::pthread_attr_getguardsize(&attributes, &guard) == 0;
  ::pthread_attr_destroy(&attributes);
  // Some releases count the guard as stack.
  if (!is_known || size <= guard + kCallStackBytes) return {kNowhere, 0};
  return {reinterpret_cast<uintptr_t>(low) + guard + kCallStackBytes,
          size - guard - kCallStackBytes};
}

}  // namespace

constinit thread_local AmpleStack ample_stack;

bool LookForAmpleStack(uintptr_t at) {
  if (ample_stack.floor != 0) return false;
  // For the main thread the C library reads a file, which a new filter may forbid.
  ample_stack = HasNewCallFilter() ? AmpleStack{kNowhere, 0} : BoundsOfThisThread();
  return at - ample_stack.floor < ample_stack.span;
}

}  // namespace attune
