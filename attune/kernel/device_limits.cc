#include "attune/kernel/device_limits.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/format.h>

namespace attune::kernel {
namespace {

// Limit for arrays of fixed size in a CUDA kernel, on every device.
constexpr int64_t kStaticSharedBytes = 48 * 1024;
constexpr std::string_view kArchPrefix = "sm_";
constexpr std::string_view kAmdArchPrefix = "gfx";

bool IsOfCudaAlone(std::string_view name) {
  return name == "dynamic_shared_bytes" || name == "arch";
}

// 90 for "sm_90" and "sm_90a". 0 for AMD GPUs, so that rules for features of some NVIDIA GPUs (arch
// >= 80) exclude them.
std::optional<int64_t> ArchNumber(std::string_view arch) {
  if (arch.starts_with(kAmdArchPrefix)) return 0;
  if (!arch.starts_with(kArchPrefix)) return std::nullopt;
  arch.remove_prefix(kArchPrefix.size());
  int64_t number = 0;
  const auto read = std::from_chars(arch.data(), arch.data() + arch.size(), number);
  return read.ec == std::errc() ? std::optional(number) : std::nullopt;
}

std::optional<int64_t> IntegerProperty(const Target& target, std::string_view name) {
  const auto property = target.properties.find(std::string(name));
  if (property == target.properties.end()) return std::nullopt;
  const ParameterValue value = ParseParameterValue(property->second);
  const int64_t* const number = std::get_if<int64_t>(&value);
  return number == nullptr ? std::nullopt : std::optional(*number);
}

std::optional<int64_t> LimitOf(const Target& target, KernelLanguage language,
                               std::string_view name) {
  if (name == "compute_units") return target.compute_units;
  if (name == "arch") return ArchNumber(target.arch);
  if (language == KernelLanguage::kOpenCl || name == "max_work_group_size") {
    return IntegerProperty(target, name);
  }
  // CUDA devices report the maximum that a launch may request.
  const auto most = IntegerProperty(target, "local_memory_bytes");
  if (name == "dynamic_shared_bytes" || !most) return most;
  return std::min(*most, kStaticSharedBytes);
}

}  // namespace

std::vector<std::string_view> LimitNamesOf(std::span<const KernelLanguage> languages) {
  const bool only_cuda = std::all_of(languages.begin(), languages.end(), [](KernelLanguage each) {
    return each == KernelLanguage::kCuda;
  });
  std::vector<std::string_view> names;
  for (const std::string_view name : kDeviceLimitNames) {
    if (only_cuda || !IsOfCudaAlone(name)) names.push_back(name);
  }
  return names;
}

Result<Config> DeviceLimitsOf(const Target& target, KernelLanguage language) {
  Config limits;
  for (const std::string_view name : LimitNamesOf({&language, 1})) {
    if (name == "language") {
      limits[std::string(name)] = std::string(Name(language));
      continue;
    }
    const std::optional<int64_t> limit = LimitOf(target, language, name);
    if (!limit) {
      return Unsupported(fmt::format("The target '{}' does not say its {}.", Text(target), name));
    }
    limits[std::string(name)] = *limit;
  }
  return limits;
}

}  // namespace attune::kernel
