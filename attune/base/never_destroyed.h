// Static values that threads may use while the process exits.
#pragma once

#include <cstddef>
#include <new>
#include <utility>

namespace attune {

// A `static const` of this type is made when it is first used, as any, and never destroyed: a
// thread that a program leaves behind at its exit may use it until the end.
template <class T>
class NeverDestroyed {
 public:
  explicit NeverDestroyed(T value) { ::new (static_cast<void*>(bytes_)) T(std::move(value)); }
  NeverDestroyed(const NeverDestroyed&) = delete;
  NeverDestroyed& operator=(const NeverDestroyed&) = delete;

  const T& operator*() const { return *std::launder(reinterpret_cast<const T*>(bytes_)); }

 private:
  alignas(T) std::byte bytes_[sizeof(T)];
};

}  // namespace attune
