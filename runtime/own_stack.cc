#include "runtime/own_stack.h"

#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

#include "attune/base/guest_thread.h"
#include "attune/base/stack_room.h"

namespace attune {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
// The sanitizers follow threads but not stack switches within a thread.
bool RunOnOwnStack(void (*body)(void*), void* argument) {
  GuestThread thread;
  const bool has_run = thread.Start([=] { body(argument); });
  thread.Join();
  return has_run;
}
#else

namespace {

// Several times the maximum of a call.
constexpr size_t kOwnStackBytes = 4 * kCallStackBytes;

// Keeps one used stack for the next call: new pages cost more than many products.
constinit std::atomic<void*> spare_stack{nullptr};

void* NewStack() {
  void* made = ::mmap(nullptr, kOwnStackBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
  if (made == MAP_FAILED) return nullptr;
  // The guard page stops an overflow before it overwrites other memory.
  if (::mprotect(made, static_cast<size_t>(::sysconf(_SC_PAGESIZE)), PROT_NONE) == 0) return made;
  ::munmap(made, kOwnStackBytes);
  return nullptr;
}

class OwnStack {
 public:
  OwnStack() : memory_(spare_stack.exchange(nullptr)) {
    if (memory_ == nullptr) memory_ = NewStack();
  }
  ~OwnStack() {
    if (memory_ == nullptr) return;
    if (void* other = spare_stack.exchange(memory_)) ::munmap(other, kOwnStackBytes);
  }
  OwnStack(const OwnStack&) = delete;
  OwnStack& operator=(const OwnStack&) = delete;

  bool valid() const { return memory_ != nullptr; }
  std::byte* memory() const { return static_cast<std::byte*>(memory_); }
  AmpleStack bounds() const {
    const auto low = reinterpret_cast<uintptr_t>(memory_);
    return {low + kCallStackBytes, kOwnStackBytes - kCallStackBytes};
  }

 private:
  void* memory_;
};

// Lies at the upper end of the new stack, because the caller's stack has no room for it.
struct Change {
  ucontext_t caller;
  ucontext_t callee;
  void (*body)(void*);
  void* argument;
};

// Takes the address in two halves, because makecontext() passes 32-bit numbers.
void Begin(unsigned high, unsigned low) {
  auto* change = reinterpret_cast<Change*>(uintptr_t{high} << 32 | low);
  change->body(change->argument);
}

bool ChangeTo(const OwnStack& stack, void (*body)(void*), void* argument) {
  constexpr size_t kRoom = (sizeof(Change) + 63) / 64 * 64;
  auto* change = new (stack.memory() + kOwnStackBytes - kRoom) Change;
  change->body = body;
  change->argument = argument;
  if (::getcontext(&change->callee) != 0) return false;
  change->callee.uc_stack.ss_sp = stack.memory();
  change->callee.uc_stack.ss_size = kOwnStackBytes - kRoom;
  change->callee.uc_link = &change->caller;
  const auto address = reinterpret_cast<uintptr_t>(change);
  ::makecontext(&change->callee, reinterpret_cast<void (*)()>(&Begin), 2,
                static_cast<unsigned>(address >> 32), static_cast<unsigned>(address));
  return ::swapcontext(&change->caller, &change->callee) == 0;
}

}  // namespace

bool RunOnOwnStack(void (*body)(void*), void* argument) {
  const OwnStack stack;
  if (!stack.valid()) return false;
  const AmpleStack before = ample_stack;
  ample_stack = stack.bounds();
  const bool has_run = ChangeTo(stack, body, argument);
  ample_stack = before;
  return has_run;
}

#endif

}  // namespace attune
