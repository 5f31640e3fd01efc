#include "extensions/interposers/cublas/real_function.h"

#include <limits.h>

#include <atomic>
#include <cstring>

#include "extensions/interposers/preload/locked.h"
#include "extensions/interposers/preload/lookup.h"
#include "extensions/interposers/preload/message.h"
#include "extensions/interposers/preload/service.h"

namespace attune::cublas {
namespace {

// True if the file of the object around `address` is libcublas.so.N or libcublasLt.so.N.
bool IsInCublas(const void* address) {
  char name[PATH_MAX];
  if (!interposer::NameOfObject(address, name, sizeof name)) return false;
  const char* slash = std::strrchr(name, '/');
  return std::strncmp(slash == nullptr ? name : slash + 1, "libcublas", 9) == 0;
}

void SayMissing(const char* name) {
  static constinit std::atomic<bool> is_said = false;
  if (is_said.exchange(true)) return;
  const bool is_lt = std::strncmp(name, "cublasLt", 8) == 0;
  interposer::Say(
      "%s was called, and no library defines it but this one: %s is not loaded. The call fails "
      "with CUBLAS_STATUS_NOT_INITIALIZED, as every such call until one is; %s may name one.",
      name, is_lt ? "libcublasLt.so" : "libcublas.so", ATTUNE_INTERPOSER_VARIABLE "_REAL");
}

}  // namespace

const Binding& RealFunction::Bind(const void* caller) {
  const interposer::CodeRange object = interposer::RangeAround(caller);
  const interposer::Locked lock(binding_);
  const int count = count_.load(std::memory_order_relaxed);
  for (int i = 0; i < count; ++i) {
    if (bindings_[i].begin == object.begin) return bindings_[i];
  }
  if (count == kMaxBindings || (count > 0 && !object.contains(caller))) return bindings_[0];
  // A library that the run time opened must call its own functions, not those of the program.
  void* function =
      interposer::Service::is_computing() ? interposer::FindBeside(caller, name_) : nullptr;
  if (function == nullptr) function = interposer::FindRealIfAny(name_, caller);
  if (function == nullptr) {
    static constinit const Binding kNone;
    SayMissing(name_);
    return kNone;
  }
  Binding& binding = bindings_[count];
  binding.begin = object.begin;
  binding.end = object.end;
  binding.is_cublas = IsInCublas(caller);
  binding.function = function;
  binding.is_whole = true;
  for (int i = 0; i < kMaxCompanions; ++i) {
    const char* name = companion_names_.names[i];
    if (name == nullptr) continue;
    binding.companions[i] = interposer::FindBeside(binding.function, name);
    binding.is_whole = binding.is_whole && binding.companions[i] != nullptr;
  }
  count_.store(count + 1, std::memory_order_release);
  return binding;
}

}  // namespace attune::cublas
