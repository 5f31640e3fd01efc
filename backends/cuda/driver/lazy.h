// A value that is made on first use.
#pragma once

#include <mutex>
#include <optional>

namespace attune::cuda {

// For libraries of hundreds of megabytes: a program that never computes on a GPU does not load
// them. Thread-safe; `T` is default-constructed.
template <class T>
class Lazy {
 public:
  Lazy() {}  // Clang refuses a const Lazy with a defaulted constructor.
  Lazy(const Lazy&) = delete;
  Lazy& operator=(const Lazy&) = delete;

  const T& Get() const {
    std::call_once(made_, [this] { value_.emplace(); });
    return *value_;
  }

 private:
  mutable std::once_flag made_;
  mutable std::optional<T> value_;
};

}  // namespace attune::cuda
