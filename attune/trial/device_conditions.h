// What a device says of itself around measurements: clocks, power, temperature, and what holds its
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

// At one moment. What the device does not tell is absent.
struct DeviceConditions {
  std::optional<int64_t> compute_clock_mhz;
  std::optional<int64_t> memory_clock_mhz;
  std::optional<double> power_w;        // Drawn, as the device averages it.
  std::optional<double> power_limit_w;  // That is enforced.
  std::optional<int64_t> temperature_c;
  // Words for what decides about the clock: "sw_power_cap", "gpu_idle". Ascending, each once; empty
  // if nothing does. docs/formats/schema.md lists them.
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

// What held the clock back at either moment, in words for people ("power cap", "temperature"), each
// once; empty if nothing did, or nothing is known. An idle device, and clocks that somebody chose,
// are not held back.
std::vector<std::string> HeldBackBy(const SetConditions& conditions);

// "power cap, temperature": one text for people; empty if nothing is held back.
std::string HeldBackText(const SetConditions& conditions);

}  // namespace attune
