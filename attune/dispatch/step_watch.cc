#include "attune/dispatch/step_watch.h"

#include <pthread.h>

#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

constinit thread_local uint64_t allocations = 0;
constinit thread_local uint64_t locks = 0;

void* CountedAllocation(std::size_t size, std::size_t alignment) {
  ++allocations;
  void* memory = nullptr;
  if (::posix_memalign(&memory, alignment, size == 0 ? 1 : size) != 0) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t size) { return CountedAllocation(size, alignof(std::max_align_t)); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return CountedAllocation(size, static_cast<std::size_t>(alignment));
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
