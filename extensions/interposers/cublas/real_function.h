// The function of cuBLAS that a call would have reached without this library.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>

namespace attune::cublas {

// Functions that have to come from the same library as the one that they are named after: they read
// what its callers were given by that library.
constexpr int kMaxCompanions = 3;
struct Companions {
  const char* names[kMaxCompanions];
};

// What calls out of one loaded object are bound to. Immutable once it can be seen.
struct Binding {
  uintptr_t begin = 0;  // The object.
  uintptr_t end = 0;
  bool is_cublas = false;  // The object is cuBLAS itself.
  bool is_whole = false;   // Every companion is there.
  void* function = nullptr;
  void* companions[kMaxCompanions] = {};

  template <class Function>
  Function* As() const {
    return reinterpret_cast<Function*>(function);
  }
  template <class Function>
  Function* Companion(int index) const {
    return reinterpret_cast<Function*>(companions[index]);
  }
};

// One exported name. A process may hold two versions of cuBLAS, each used by other libraries, whose
// handles must not be mixed, so each calling object has a binding of its own. Constant-initialised.
// Thread-safe.
class RealFunction {
 public:
  constexpr RealFunction(const char* name, Companions companions)
      : name_(name), companion_names_(companions) {}

  const char* name() const { return name_; }

  // For `caller`, an address in the object that calls. Its function is null as long as no library
  // that is loaded defines it, which is said once: a program that asked dlsym() for the name, and
  // has no cuBLAS, found the one of this library.
  const Binding& For(const void* caller) {
    const auto address = reinterpret_cast<uintptr_t>(caller);
    const int count = count_.load(std::memory_order_acquire);
    for (int i = 0; i < count; ++i) {
      if (address >= bindings_[i].begin && address < bindings_[i].end) return bindings_[i];
    }
    return Bind(caller);
  }

 private:
  // Objects beyond these get the first binding; so do callers in no object, as compiled at run
  // time, once there is one.
  static constexpr int kMaxBindings = 8;

  const Binding& Bind(const void* caller);

  const char* name_;
  Companions companion_names_;
  pthread_mutex_t binding_ = PTHREAD_MUTEX_INITIALIZER;
  std::atomic<int> count_ = 0;
  Binding bindings_[kMaxBindings];
};

}  // namespace attune::cublas
