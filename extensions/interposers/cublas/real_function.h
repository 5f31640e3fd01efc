// The function of cuBLAS that a call would have reached without this library.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>

namespace attune::cublas {

// Functions that must come from the same library as the one that they belong to: they read objects
// that this library gave to its callers.
constexpr int kMaxCompanions = 3;
struct Companions {
  const char* names[kMaxCompanions];
};

// The functions bound to calls from one loaded object. Immutable once published.
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

// One exported name. A process can hold two versions of cuBLAS, each used by other libraries. Their
// handles must not be mixed, so each calling object has a binding of its own. Constant-initialised.
// Thread-safe.
class RealFunction {
 public:
  constexpr RealFunction(const char* name, Companions companions)
      : name_(name), companion_names_(companions) {}

  const char* name() const { return name_; }

  // The binding for `caller`, an address in the calling object. Its function is null while no
  // loaded library defines it, which is reported once: a program without cuBLAS that passed the
  // name to dlsym() got the function of this library.
  const Binding& For(const void* caller) {
    const auto address = reinterpret_cast<uintptr_t>(caller);
    const int count = count_.load(std::memory_order_acquire);
    for (int i = 0; i < count; ++i) {
      if (address >= bindings_[i].begin && address < bindings_[i].end) return bindings_[i];
    }
    return Bind(caller);
  }

 private:
  // Later objects get the first binding; so do callers in no object (code compiled at run time),
  // once it exists.
  static constexpr int kMaxBindings = 8;

  const Binding& Bind(const void* caller);

  const char* name_;
  Companions companion_names_;
  pthread_mutex_t binding_ = PTHREAD_MUTEX_INITIALIZER;
  std::atomic<int> count_ = 0;
  Binding bindings_[kMaxBindings];
};

}  // namespace attune::cublas
