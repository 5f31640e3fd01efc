#include "bench/counted_new.h"

#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

constinit thread_local uint64_t allocations = 0;

}  // namespace

// Inlined alone, a delete that frees looks mismatched to GCC.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace attune {

uint64_t AllocationsOfThisThread() { return allocations; }

}  // namespace attune
