// The function that a program would have called if this library were not preloaded.
#pragma once

#include <atomic>
#include <cstdint>

namespace attune::face {

// One exported name, found at its first call and kept. Constant-initialised, so that it is there
// before any constructor runs. Thread-safe: two threads that look at once find the same.
class RealSymbol {
 public:
  explicit constexpr RealSymbol(const char* name) : name_(name) {}

  const char* name() const { return name_; }

  // FindReal() of the name for `caller`, an address in the program or library that calls.
  template <class Function>
  Function* Get(const void* caller) {
    void* found = function_.load(std::memory_order_acquire);
    if (found == nullptr) found = Find(caller);
    return reinterpret_cast<Function*>(found);
  }

  // Whether `caller` lies in the object of the real function, once that is known: a library that
  // calls its own exported names.
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

}  // namespace attune::face
