#include "attune/trial/device_conditions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace attune {
namespace {

// Reasons that keep a clock below the requested one, in display order.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kHoldBacks = {{
    {"sw_power_cap", "power cap"},
    {"hw_power_brake_slowdown", "power brake"},
    {"sw_thermal_slowdown", "temperature"},
    {"hw_thermal_slowdown", "temperature"},
    {"hw_slowdown", "hardware slowdown"},
}};

Status CheckCount(std::string_view name, const std::optional<int64_t>& count) {
  if (!count.has_value() || *count >= 0) return Status::Ok();
  return InvalidArgument(fmt::format("{} is {}; it must not be negative.", name, *count));
}

Status CheckWatts(std::string_view name, const std::optional<double>& watts) {
  if (!watts.has_value() || (std::isfinite(*watts) && *watts >= 0)) return Status::Ok();
  return InvalidArgument(
      fmt::format("{} is {}; it must be finite and not negative.", name, *watts));
}

bool IsReason(std::string_view word) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789_";
  return !word.empty() && word.size() <= kMaxClockReasonBytes &&
         word.find_first_not_of(kLetters) == std::string_view::npos;
}

Status CheckReasons(const std::vector<std::string>& reasons) {
  if (reasons.size() > kMaxClockReasons) {
    return InvalidArgument(fmt::format("clock_reasons are {}; at most {} are kept.", reasons.size(),
                                       kMaxClockReasons));
  }
  for (const std::string& reason : reasons) {
    if (IsReason(reason)) continue;
    return InvalidArgument(
        fmt::format("clock_reasons hold a text of {} bytes that is no word of 1 to {} lower-case "
                    "letters, digits and underscores.",
                    reason.size(), kMaxClockReasonBytes));
  }
  const auto not_ascending =
      std::adjacent_find(reasons.begin(), reasons.end(), std::greater_equal<>());
  if (not_ascending == reasons.end()) return Status::Ok();
  return InvalidArgument(
      fmt::format("clock_reasons hold '{}' before '{}'; they must be ascending, each once.",
                  *not_ascending, *(not_ascending + 1)));
}

bool Names(const std::optional<DeviceConditions>& conditions, std::string_view reason) {
  if (!conditions.has_value() || !conditions->clock_reasons.has_value()) return false;
  const auto& reasons = *conditions->clock_reasons;
  return std::find(reasons.begin(), reasons.end(), reason) != reasons.end();
}

}  // namespace

Status Validate(const DeviceConditions& conditions) {
  ATTUNE_RETURN_IF_ERROR(CheckCount("compute_clock_mhz", conditions.compute_clock_mhz));
  ATTUNE_RETURN_IF_ERROR(CheckCount("memory_clock_mhz", conditions.memory_clock_mhz));
  ATTUNE_RETURN_IF_ERROR(CheckWatts("power_w", conditions.power_w));
  ATTUNE_RETURN_IF_ERROR(CheckWatts("power_limit_w", conditions.power_limit_w));
  return conditions.clock_reasons.has_value() ? CheckReasons(*conditions.clock_reasons)
                                              : Status::Ok();
}

Status Validate(const SetConditions& conditions) {
  if (conditions.before.has_value()) {
    ATTUNE_RETURN_IF_ERROR(Validate(*conditions.before).WithContext("Conditions before a final"));
  }
  if (!conditions.after.has_value()) return Status::Ok();
  return Validate(*conditions.after).WithContext("Conditions after a final");
}

std::vector<std::string> HeldBackBy(const SetConditions& conditions) {
  std::vector<std::string> words;
  for (const auto& [reason, word] : kHoldBacks) {
    const bool held = Names(conditions.before, reason) || Names(conditions.after, reason);
    if (held && std::find(words.begin(), words.end(), word) == words.end()) {
      words.emplace_back(word);
    }
  }
  return words;
}

std::string HeldBackText(const SetConditions& conditions) {
  return fmt::format("{}", fmt::join(HeldBackBy(conditions), ", "));
}

}  // namespace attune
