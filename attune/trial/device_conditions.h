// Device conditions around measurements: clocks, power, temperature, and the reasons that hold its
// clock back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"

namespace attune {

// At one moment. Values that the device does not report are absent.
struct DeviceConditions {
  std::optional<int64_t> compute_clock_mhz;
  std::optional<int64_t> memory_clock_mhz;
  std::optional<double> power_w;        // Drawn, as the device averages it.
  std::optional<double> power_limit_w;  // The enforced limit.
  std::optional<int64_t> temperature_c;
  // Words for the reasons that set the clock: "sw_power_cap", "gpu_idle". Ascending, each once;
  // empty if there is none. docs/formats/schema.md lists them.
  std::optional<std::vector<std::string>> clock_reasons;

  friend bool operator==(const DeviceConditions&, const DeviceConditions&) = default;
};

// Right before the final measurements of a set and right after them.
struct SetConditions {
  std::optional<DeviceConditions> before;
  std::optional<DeviceConditions> after;

  bool empty() const { return !before.has_value() && !after.has_value(); }

  friend bool operator==(const SetConditions&, const SetConditions&) = default;
};

inline constexpr size_t kMaxClockReasons = 64;
inline constexpr size_t kMaxClockReasonBytes = 40;

// kInvalidArgument names the field and its value: watts are finite, and nothing but a temperature
// is negative; reasons are at most kMaxClockReasons, ascending, each of 1 to kMaxClockReasonBytes
// lower-case letters, digits and underscores.
Status Validate(const DeviceConditions& conditions);
Status Validate(const SetConditions& conditions);

// Reasons that held the clock back at either moment, in words for users ("power cap",
// "temperature"), each once; empty if there were none, or nothing is known. An idle device, and
// clocks that a user set, are not held back.
std::vector<std::string> HeldBackBy(const SetConditions& conditions);

// "power cap, temperature": one text for users; empty if there is none.
std::string HeldBackText(const SetConditions& conditions);

}  // namespace attune
