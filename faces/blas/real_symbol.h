// The function that a program would have called if this library were not preloaded.
#pragma once

#include <atomic>
#include <cstdint>

namespace attune::blas {

// One exported name, found at its first call and kept. Constant-initialised, so that it is there
// before any constructor runs. Thread-safe: two threads that look at once find the same.
class RealSymbol {
 public:
  explicit constexpr RealSymbol(const char* name) : name_(name) {}

  const char* name() const { return name_; }

  // What `caller`, an address in the program or library that calls, would have been bound to: the
  // next definition in the global scope, else one in the dependencies of the calling object (a BLAS
  // opened RTLD_LOCAL, as Python does), else of any loaded object. ATTUNE_BLAS_REAL names a library
  // that comes before all of them. Ends the process if there is none.
  template <class Function>
  Function* Get(const void* caller) {
    void* found = function_.load(std::memory_order_acquire);
    if (found == nullptr) found = Find(caller);
    return reinterpret_cast<Function*>(found);
  }

  // Whether `caller` lies in the object of the real function, once that is known: a BLAS that calls
  // its own exported names.
  bool IsOwnCall(const void* caller) const {
    const auto address = reinterpret_cast<uintptr_t>(caller);
    return address - begin_.load(std::memory_order_relaxed) < size_.load(std::memory_order_relaxed);
  }

 private:
  void* Find(const void* caller);

  const char* name_;
  std::atomic<void*> function_ = nullptr;
  std::atomic<uintptr_t> begin_ = 0;
  std::atomic<uintptr_t> size_ = 0;
};

// The path of a loaded object other than this one that defines `name`, or null. `path` has room for
// `size` bytes.
const char* DefiningObject(const char* name, char* path, uint64_t size);

}  // namespace attune::blas
