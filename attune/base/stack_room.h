// How much stack the calling thread has left. Needs the C library alone, as process_room.h does.
#pragma once

#include <cstddef>
#include <cstdint>

namespace attune {

// What a call takes of it at most: a first call, which decides, opens libraries, reads a database
// and compiles. tests/e2e/limits measures it for every solver; libxsmm's compiler takes most, 145
// KB.
inline constexpr size_t kCallStackBytes = size_t{256} << 10;

// Addresses at which this thread has kCallStackBytes left: [floor, floor + span).
struct AmpleStack {
  uintptr_t floor = 0;  // 0: not looked for yet.
  uintptr_t span = 0;   // 0: no address is known to do.
};
// In the first block of thread storage, which costs no call.
[[gnu::tls_model("initial-exec")]] extern constinit thread_local AmpleStack ample_stack;

// What HasAmpleStack() does where the bounds are not known yet, or do not hold.
bool LookForAmpleStack(uintptr_t at);

// Whether a call may be made here: kCallStackBytes are left of the stack that this thread was
// started with. False on every other stack (a coroutine's, a signal's), whose end nobody tells, and
// where the system does not tell this thread's.
[[gnu::always_inline]] inline bool HasAmpleStack() {
  const auto at = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  if (at - ample_stack.floor < ample_stack.span) [[likely]]
    return true;
  return LookForAmpleStack(at);
}

}  // namespace attune
