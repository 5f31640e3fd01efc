// The stack that the calling thread has left. Needs the C library alone, as process_room.h does.
#pragma once

#include <cstddef>
#include <cstdint>

namespace attune {

// The maximum stack use of a call. The first call for a problem opens libraries, reads a database
// and compiles. tests/e2e/limits measures it for every solver; the maximum is libxsmm's compiler
// with 145 KB.
inline constexpr size_t kCallStackBytes = size_t{256} << 10;

// Addresses at which this thread has kCallStackBytes left: [floor, floor + span).
struct AmpleStack {
  uintptr_t floor = 0;  // 0: not determined yet.
  uintptr_t span = 0;   // 0: no address qualifies.
};
// In the static TLS block, so that access costs no call.
[[gnu::tls_model("initial-exec")]] extern constinit thread_local AmpleStack ample_stack;

// The slow path of HasAmpleStack(), for unknown bounds or an address outside them.
bool LookForAmpleStack(uintptr_t at);

// True if kCallStackBytes are left of the stack that this thread started with. False on every other
// stack (a coroutine's, a signal handler's), whose end is unknown. False if the system does not
// report this thread's stack.
[[gnu::always_inline]] inline bool HasAmpleStack() {
  const auto at = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  if (at - ample_stack.floor < ample_stack.span) [[likely]]
    return true;
  return LookForAmpleStack(at);
}

}  // namespace attune
