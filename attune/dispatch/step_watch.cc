#include "attune/dispatch/step_watch.h"

#include <pthread.h>

#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

constinit thread_local uint64_t allocations = 0;
constinit thread_local uint64_t locks = 0;

// Null if there is no memory.
void* CountedAllocation(std::size_t size, std::size_t alignment) noexcept {
  ++allocations;
  void* memory = nullptr;
  return ::posix_memalign(&memory, alignment, size == 0 ? 1 : size) == 0 ? memory : nullptr;
}

void* CountedAllocationOrThrow(std::size_t size, std::size_t alignment) {
  void* memory = CountedAllocation(size, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t size) {
  return CountedAllocationOrThrow(size, alignof(std::max_align_t));
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return CountedAllocationOrThrow(size, static_cast<std::size_t>(alignment));
}
// std::stable_sort takes its buffer from here, and gives it back to the operators below.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return CountedAllocation(size, alignof(std::max_align_t));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

extern "C" {

int __real_pthread_mutex_lock(pthread_mutex_t* mutex);

int __wrap_pthread_mutex_lock(pthread_mutex_t* mutex) {
  ++locks;
  return __real_pthread_mutex_lock(mutex);
}

}  // extern "C"

namespace attune {

uint64_t AllocationsOfThisThread() { return allocations; }
uint64_t LocksOfThisThread() { return locks; }

}  // namespace attune
