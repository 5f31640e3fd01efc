// kernels.h for C++: a kernel of the program's own, described in code (kernel_description.hpp) or
// in a file, tuned and served by size.
#ifndef ATTUNE_KERNELS_HPP_
#define ATTUNE_KERNELS_HPP_

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "attune/error.hpp"
#include "attune/kernel_description.hpp"
#include "attune/kernels.h"

namespace attune {
inline namespace v1 {

// {{"m", 4096}, {"n", 4096}}.
using KernelSizes = std::map<std::string, std::int64_t>;

// The best config for a size: attune_kernel_choice, which belongs to the kernel.
using KernelChoice = attune_kernel_choice;

// How to call a function that is a constraint: its parameter types are converted from C's values.
namespace kernel_constraint {

inline void Read(const attune_kernel_value& value, std::int64_t& argument) {
  if (value.kind != ATTUNE_KERNEL_INTEGER) {
    throw std::invalid_argument(std::string(value.name) + " is " + value.text +
                                ", which is no integer.");
  }
  argument = value.integer;
}
inline void Read(const attune_kernel_value& value, double& argument) {
  if (value.kind == ATTUNE_KERNEL_NAME) {
    throw std::invalid_argument(std::string(value.name) + " is " + value.text +
                                ", which is no number.");
  }
  argument = value.real;
}
inline void Read(const attune_kernel_value& value, std::string& argument) { argument = value.text; }

template <class Argument>
Argument As(const attune_kernel_value& value) {
  static_assert(std::is_same<Argument, std::int64_t>::value ||
                    std::is_same<Argument, double>::value ||
                    std::is_same<Argument, std::string>::value,
                "A constraint takes std::int64_t, double and std::string.");
  Argument argument{};
  Read(value, argument);
  return argument;
}

template <class... Arguments, std::size_t... kPlaces>
bool Ask(const std::function<bool(Arguments...)>& holds, const attune_kernel_value* values,
         std::index_sequence<kPlaces...>) {
  (void)values;  // Unused by a function without arguments.
  return holds(As<std::decay_t<Arguments>>(values[kPlaces])...);
}

}  // namespace kernel_constraint

// A kernel on a device. Move-only. One thread at a time.
class Kernel {
 public:
  // attune_kernel_open. Throws Error, as all of it.
  explicit Kernel(const std::string& file,
                  const attune_kernel_options& options = ATTUNE_KERNEL_OPTIONS_INIT) {
    attune_kernel* kernel = nullptr;
    Check(attune_kernel_open(file.c_str(), &options, &kernel));
    kernel_.reset(kernel);
  }

  // attune_kernel_constrain with a function of the values of `names`, in this order: of
  // std::int64_t, double or std::string. `text` is for messages. The call of Tune or Choose that
  // evaluates it rethrows its exceptions.
  //
  //   kernel.Constrain({"BLOCK", "n"}, "a block is no larger than n",
  //                    [](std::int64_t block, std::int64_t n) { return block <= n; });
  template <class Holds>
  void Constrain(const std::vector<std::string>& names, const std::string& text, Holds holds) {
    ConstrainBy(names, text, std::function(std::move(holds)));
  }

  // attune_kernel_tune.
  void Tune(const KernelSizes& sizes) {
    const std::vector<attune_kernel_size> list = ToC(sizes);
    CheckAsked(attune_kernel_tune(kernel_.get(), list.data(), list.size()));
  }

  // attune_kernel_choose; valid until the next call.
  const KernelChoice& Choose(const KernelSizes& sizes) {
    const std::vector<attune_kernel_size> list = ToC(sizes);
    const attune_kernel_choice* choice = nullptr;
    CheckAsked(attune_kernel_choose(kernel_.get(), list.data(), list.size(), &choice));
    return *choice;
  }

 private:
  struct Close {
    void operator()(attune_kernel* kernel) const { attune_kernel_close(kernel); }
  };

  // A function of the program, behind the pointer that C has of it.
  struct Predicate {
    std::function<bool(const attune_kernel_value*)> holds;
    std::exception_ptr thrown;
  };

  static std::int32_t AskPredicate(const attune_kernel_value* values, void* user) {
    auto* const predicate = static_cast<Predicate*>(user);
    try {
      return predicate->holds(values) ? 1 : 0;
    } catch (...) {
      predicate->thrown = std::current_exception();
      return -1;
    }
  }

  template <class... Arguments>
  void ConstrainBy(const std::vector<std::string>& names, const std::string& text,
                   std::function<bool(Arguments...)> holds) {
    if (names.size() != sizeof...(Arguments)) {
      throw std::invalid_argument("The constraint '" + text + "' has " +
                                  std::to_string(names.size()) + " names, and its function takes " +
                                  std::to_string(sizeof...(Arguments)) + " arguments.");
    }
    auto predicate = std::make_unique<Predicate>();
    predicate->holds = [holds = std::move(holds)](const attune_kernel_value* values) {
      return kernel_constraint::Ask(holds, values, std::index_sequence_for<Arguments...>());
    };
    std::vector<const char*> c_names;
    for (const std::string& name : names) c_names.push_back(name.c_str());
    attune_kernel_constraint constraint = ATTUNE_KERNEL_CONSTRAINT_INIT;
    constraint.text = text.c_str();
    constraint.names = c_names.data();
    constraint.name_count = c_names.size();
    constraint.holds = AskPredicate;
    constraint.user = predicate.get();
    predicates_.push_back(std::move(predicate));
    Check(attune_kernel_constrain(kernel_.get(), &constraint));
  }

  // Rethrows an exception of a predicate, else checks the result of the call.
  void CheckAsked(attune_code code) {
    std::exception_ptr thrown;
    for (const auto& predicate : predicates_) {
      if (predicate->thrown) thrown = std::exchange(predicate->thrown, nullptr);
    }
    if (code != ATTUNE_OK && thrown) std::rethrow_exception(thrown);
    Check(code);
  }

  static std::vector<attune_kernel_size> ToC(const KernelSizes& sizes) {
    std::vector<attune_kernel_size> list;
    for (const auto& size : sizes) list.push_back({size.first.c_str(), size.second});
    return list;
  }

  std::vector<std::unique_ptr<Predicate>> predicates_;  // Outlive the kernel that asks them.
  std::unique_ptr<attune_kernel, Close> kernel_;
};

}  // namespace v1
}  // namespace attune

#endif  // ATTUNE_KERNELS_HPP_
