// The C functions of attune/kernels.h.
#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "attune/base/struct_size.h"
#include "attune/kernels.h"
#include "runtime/c_runtime.h"
#include "runtime/kernel_handle.h"

// A choice as C has it, with what it points to.
struct attune_kernel {
  explicit attune_kernel(std::unique_ptr<attune::KernelHandle> opened)
      : handle(std::move(opened)) {}

  std::unique_ptr<attune::KernelHandle> handle;
  std::string config;
  std::vector<std::pair<std::string, std::string>> texts;
  std::vector<attune_kernel_parameter> parameters;
  std::vector<attune_kernel_geometry> launches;
  attune_kernel_choice choice = {};
};

namespace attune {
namespace {

constexpr size_t kMostSizes = 1024;
constexpr size_t kMostDimensions = 3;
constexpr size_t kMostNames = 256;
// A day; a clock has no room for the largest number behind now.
constexpr int64_t kMostWaitNs = 86'400'000'000'000;
// What callers of the first interface have.
constexpr size_t kLeastOptionsSize = offsetof(attune_kernel_options, check_wait_ns);

Result<kernel::OwnSizes> SizesOf(const attune_kernel_size* given, size_t count) {
  kernel::OwnSizes sizes;
  if (count > kMostSizes || (given == nullptr && count > 0)) {
    return InvalidArgument(fmt::format("{} sizes were given{}.", count,
                                       given == nullptr ? ", and no list of them" : ""));
  }
  for (size_t i = 0; i < count; ++i) {
    if (given[i].name == nullptr) return InvalidArgument(fmt::format("Size {} has no name.", i));
    if (sizes.emplace(given[i].name, given[i].value).second) continue;
    return InvalidArgument(fmt::format("The size '{}' is given twice.", given[i].name));
  }
  return sizes;
}

Result<KernelHandleOptions> OptionsOf(const attune_kernel_options* given) {
  KernelHandleOptions options;
  if (given == nullptr) return options;
  ATTUNE_RETURN_IF_ERROR(CheckStructSize(given->struct_size, kLeastOptionsSize,
                                         "the kernel's options", "ATTUNE_KERNEL_OPTIONS_INIT"));
  if (given->per_size_ns < 0) {
    return InvalidArgument(fmt::format("per_size_ns is {}; it is from 0.", given->per_size_ns));
  }
  if (given->device != nullptr) options.device = given->device;
  if (given->database != nullptr) options.database = given->database;
  if (given->per_size_ns > 0) options.per_size_ns = given->per_size_ns;
  if (given->seed > 0) options.seed = given->seed;
  const bool has_wait = given->struct_size >= sizeof *given;
  if (has_wait && given->check_wait_ns != 0) {
    options.check_wait_ns = std::clamp<int64_t>(given->check_wait_ns, 0, kMostWaitNs);
  }
  return options;
}

attune_kernel_value ValueOf(const std::string& name, const ParameterValue& value,
                            const std::string& text) {
  attune_kernel_value told = {name.c_str(), text.c_str(), 0, 0, ATTUNE_KERNEL_NAME, 0};
  if (const auto* integer = std::get_if<int64_t>(&value)) {
    told.kind = ATTUNE_KERNEL_INTEGER;
    told.integer = *integer;
    told.real = static_cast<double>(*integer);
  } else if (const auto* real = std::get_if<double>(&value)) {
    told.kind = ATTUNE_KERNEL_REAL;
    told.real = *real;
  }
  return told;
}

// What the function of the program says of what `lookup` has.
Result<bool> Ask(const Constraint& constraint, attune_kernel_predicate holds, void* user,
                 const Expression::Lookup& lookup) {
  std::vector<std::string> texts;
  std::vector<const ParameterValue*> found;
  std::string values;
  for (const std::string& name : constraint.names) {
    found.push_back(lookup(name));
    if (found.back() == nullptr) return NotFound(fmt::format("'{}' is not known.", name));
    texts.push_back(Text(*found.back()));
    values += fmt::format("{}{} = {}", values.empty() ? "" : ", ", name, texts.back());
  }
  std::vector<attune_kernel_value> told;
  for (size_t i = 0; i < found.size(); ++i) {
    told.push_back(ValueOf(constraint.names[i], *found[i], texts[i]));
  }
  const int32_t said = holds(told.data(), user);
  if (said >= 0) return said > 0;
  return InvalidArgument(
      fmt::format("The constraint '{}' of the program cannot say whether it holds for {}.",
                  constraint.text, values));
}

Result<Constraint> ConstraintOf(const attune_kernel_constraint& given) {
  ATTUNE_RETURN_IF_ERROR(CheckStructSize(given.struct_size, sizeof given, "the constraint",
                                         "ATTUNE_KERNEL_CONSTRAINT_INIT"));
  if (given.text == nullptr || given.holds == nullptr ||
      (given.names == nullptr && given.name_count > 0) || given.name_count > kMostNames) {
    return InvalidArgument(
        fmt::format("A constraint needs a text, a function, and up to {} names.", kMostNames));
  }
  Constraint constraint;
  constraint.text = given.text;
  for (size_t i = 0; i < given.name_count; ++i) {
    if (given.names[i] == nullptr) {
      return InvalidArgument(fmt::format("Name {} of the constraint '{}' is null.", i, given.text));
    }
    constraint.names.emplace_back(given.names[i]);
  }
  constraint.holds = [asked = constraint, holds = given.holds,
                      user = given.user](const Expression::Lookup& lookup) {
    return Ask(asked, holds, user, lookup);
  };
  return constraint;
}

int32_t Told(ServedBy by) {
  if (by == ServedBy::kExact) return ATTUNE_KERNEL_EXACT;
  return by == ServedBy::kNearest ? ATTUNE_KERNEL_NEAREST : ATTUNE_KERNEL_DEFAULT;
}

attune_kernel_geometry GeometryOf(const kernel::PlannedLaunch& launch) {
  attune_kernel_geometry geometry = {launch.function.c_str(),
                                     static_cast<int32_t>(launch.local.size()),
                                     0,
                                     {1, 1, 1},
                                     {1, 1, 1},
                                     static_cast<uint64_t>(launch.shared_bytes)};
  for (size_t i = 0; i < std::min(launch.local.size(), kMostDimensions); ++i) {
    geometry.local[i] = static_cast<uint64_t>(launch.local[i]);
    geometry.groups[i] = static_cast<uint64_t>(launch.groups[i]);
  }
  return geometry;
}

// `winner` is in the handle of `kernel`, and stays there until the next call.
void Tell(const KernelWinner& winner, attune_kernel& kernel) {
  kernel.config = Text(winner.served.config);
  kernel.texts.clear();
  for (const auto& [name, value] : winner.served.config) {
    kernel.texts.emplace_back(name, Text(value));
  }
  kernel.parameters.clear();
  for (const auto& [name, value] : kernel.texts) {
    kernel.parameters.push_back({name.c_str(), value.c_str()});
  }
  kernel.launches.clear();
  for (const auto& launch : winner.plan.launches) kernel.launches.push_back(GeometryOf(launch));
  attune_kernel_choice& choice = kernel.choice;
  choice.struct_size = sizeof choice;
  choice.served_by = Told(winner.served.by);
  choice.pending = winner.is_pending ? 1 : 0;
  choice.config = kernel.config.c_str();
  choice.parameters = kernel.parameters.data();
  choice.parameter_count = kernel.parameters.size();
  choice.source = winner.source.c_str();
  choice.options = winner.compile_options.c_str();
  choice.launches = kernel.launches.data();
  choice.launch_count = kernel.launches.size();
  choice.workspace_bytes = static_cast<uint64_t>(winner.plan.workspace_bytes);
  choice.time_ns = winner.time_ns;
  choice.default_time_ns = winner.default_time_ns;
}

}  // namespace
}  // namespace attune

extern "C" {

attune_code attune_kernel_open(const char* file, const attune_kernel_options* options,
                               attune_kernel** kernel) {
  return attune::Guarded([&]() -> attune::Status {
    attune::Clear(kernel);
    if (file == nullptr || kernel == nullptr) return attune::NullArgument("attune_kernel_open");
    ATTUNE_ASSIGN_OR_RETURN(const auto opened, attune::OptionsOf(options));
    ATTUNE_ASSIGN_OR_RETURN(auto handle, attune::KernelHandle::Open(file, opened));
    *kernel = std::make_unique<attune_kernel>(std::move(handle)).release();
    return attune::Status::Ok();
  });
}

void attune_kernel_close(attune_kernel* kernel) {
  (void)attune::Guarded([&] {
    const std::unique_ptr<attune_kernel> closed(kernel);
    return attune::Status::Ok();
  });
}

attune_code attune_kernel_constrain(attune_kernel* kernel,
                                    const attune_kernel_constraint* constraint) {
  return attune::Guarded([&]() -> attune::Status {
    if (kernel == nullptr || constraint == nullptr) {
      return attune::NullArgument("attune_kernel_constrain");
    }
    ATTUNE_ASSIGN_OR_RETURN(auto checked, attune::ConstraintOf(*constraint));
    return kernel->handle->Constrain(std::move(checked));
  });
}

attune_code attune_kernel_tune(attune_kernel* kernel, const attune_kernel_size* sizes,
                               size_t size_count) {
  return attune::Guarded([&]() -> attune::Status {
    if (kernel == nullptr) return attune::NullArgument("attune_kernel_tune");
    ATTUNE_ASSIGN_OR_RETURN(const auto all, attune::SizesOf(sizes, size_count));
    return kernel->handle->Tune(all);
  });
}

attune_code attune_kernel_choose(attune_kernel* kernel, const attune_kernel_size* sizes,
                                 size_t size_count, const attune_kernel_choice** choice) {
  return attune::Guarded([&]() -> attune::Status {
    attune::Clear(choice);
    if (kernel == nullptr || choice == nullptr) return attune::NullArgument("attune_kernel_choose");
    ATTUNE_ASSIGN_OR_RETURN(const auto all, attune::SizesOf(sizes, size_count));
    ATTUNE_ASSIGN_OR_RETURN(const attune::KernelWinner* winner, kernel->handle->Choose(all));
    attune::Tell(*winner, *kernel);
    *choice = &kernel->choice;
    return attune::Status::Ok();
  });
}

}  // extern "C"
