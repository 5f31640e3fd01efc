#include "bench/counted_new.h"

#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

constinit thread_local uint64_t allocations = 0;

}  // namespace

void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace attune {

uint64_t AllocationsOfThisThread() { return allocations; }

}  // namespace attune
