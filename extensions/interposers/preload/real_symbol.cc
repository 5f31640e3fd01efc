#include "extensions/interposers/preload/real_symbol.h"

#include "extensions/interposers/preload/lookup.h"

namespace attune::interposer {

void* RealSymbol::Find(const void* caller) {
  void* found = FindReal(name_, caller);
  const CodeRange range = RangeAround(found);
  begin_.store(range.begin, std::memory_order_relaxed);
  size_.store(range.end - range.begin, std::memory_order_relaxed);
  function_.store(found, std::memory_order_release);
  return found;
}

void* RealSymbol::FindBesideCaller(const void* caller) {
  void* found = FindBeside(caller, name_);
  if (found == nullptr || has_nested_.exchange(true)) return found;
  nested_caller_ = RangeAround(caller);
  nested_function_.store(found, std::memory_order_release);
  return found;
}

}  // namespace attune::interposer
