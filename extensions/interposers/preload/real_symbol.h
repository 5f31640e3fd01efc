// The function that a program would have called if this library were not preloaded.
#pragma once

#include <atomic>
#include <cstdint>

#include "extensions/interposers/preload/lookup.h"

namespace attune::interposer {

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

  // For a caller within the run time. Prefers the definition of the calling library, so that it
  // never computes with code of another one. Without that, the same as Get().
  template <class Function>
  Function* GetWithinRuntime(const void* caller) {
    void* found = nested_function_.load(std::memory_order_acquire);
    if (found == nullptr || !nested_caller_.contains(caller)) found = FindBesideCaller(caller);
    return found != nullptr ? reinterpret_cast<Function*>(found) : Get<Function>(caller);
  }

  // Whether `caller` lies in the object of the real function, once that is known: a library that
  // calls its own exported names.
  bool IsOwnCall(const void* caller) const {
    const auto address = reinterpret_cast<uintptr_t>(caller);
    return address - begin_.load(std::memory_order_relaxed) < size_.load(std::memory_order_relaxed);
  }

 private:
  void* Find(const void* caller);
  void* FindBesideCaller(const void* caller);

  const char* name_;
  std::atomic<void*> function_ = nullptr;
  std::atomic<uintptr_t> begin_ = 0;
  std::atomic<uintptr_t> size_ = 0;
  std::atomic<bool> has_nested_ = false;  // True once a thread sets the next two.
  // The first library that called from within the run time; set before nested_function_.
  CodeRange nested_caller_;
  std::atomic<void*> nested_function_ = nullptr;
};

}  // namespace attune::interposer
