// An NVML for tests without a driver. It knows the device at 0000:1B:00.0. It takes its readings
// from the environment at each call, so that a test can set them: STAND_IN_NVML holds words
// `name=number`, where a name is
//
//   a function             the error that it returns
//   sm_mhz, memory_mhz, power_mw, limit_mw, celsius, reasons, energy_mj      its reading
//
// Built without STAND_IN_READINGS it has no function that reads, and without STAND_IN_EVENTS it
// calls the reasons of the clock as drivers before 535 did.

#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>

#include "backends/cuda/driver/nvml_api.h"

namespace {

using attune::cuda::kNvmlSuccess;
using attune::cuda::nvmlDevice_t;
using attune::cuda::nvmlReturn_t;

[[maybe_unused]] constexpr nvmlReturn_t kNotFound = 6;
[[maybe_unused]] constexpr const char* kBusId = "0000:1B:00.0";
[[maybe_unused]] char the_device;

std::optional<unsigned long long> Told(const std::string& name) {
  const char* text = std::getenv("STAND_IN_NVML");
  const std::string words = " " + std::string(text == nullptr ? "" : text);
  const size_t at = words.find(" " + name + "=");
  if (at == std::string::npos) return std::nullopt;
  return std::strtoull(words.c_str() + at + name.size() + 2, nullptr, 0);
}

nvmlReturn_t ErrorOf(const char* function) {
  return static_cast<nvmlReturn_t>(Told(function).value_or(kNvmlSuccess));
}

#ifdef STAND_IN_READINGS
template <class Value>
nvmlReturn_t Read(const char* function, const char* name, Value usual, Value* value) {
  if (const nvmlReturn_t error = ErrorOf(function); error != kNvmlSuccess) return error;
  *value = static_cast<Value>(Told(name).value_or(usual));
  return kNvmlSuccess;
}
#endif

}  // namespace

extern "C" {

nvmlReturn_t nvmlInit_v2() { return ErrorOf("nvmlInit_v2"); }

const char* nvmlErrorString(nvmlReturn_t) { return "As told"; }

#ifndef STAND_IN_BLIND
nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char* pci_bus_id, nvmlDevice_t* device) {
  if (const nvmlReturn_t error = ErrorOf("nvmlDeviceGetHandleByPciBusId_v2")) return error;
  if (std::strcmp(pci_bus_id, kBusId) != 0) return kNotFound;
  *device = reinterpret_cast<nvmlDevice_t>(&the_device);
  return kNvmlSuccess;
}
#endif

#ifdef STAND_IN_READINGS

nvmlReturn_t nvmlSystemGetDriverVersion(char* version, unsigned length) {
  std::strncpy(version, "580.95.05", length);
  return ErrorOf("nvmlSystemGetDriverVersion");
}

nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t, int clock, unsigned* mhz) {
  return clock == attune::cuda::kNvmlClockSm
             ? Read("nvmlDeviceGetClockInfo", "sm_mhz", 1305u, mhz)
             : Read("nvmlDeviceGetClockInfo", "memory_mhz", 2619u, mhz);
}

nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t, unsigned* milliwatts) {
  return Read("nvmlDeviceGetPowerUsage", "power_mw", 698'250u, milliwatts);
}

nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t, unsigned* milliwatts) {
  return Read("nvmlDeviceGetEnforcedPowerLimit", "limit_mw", 700'000u, milliwatts);
}

nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t, int, unsigned* celsius) {
  return Read("nvmlDeviceGetTemperature", "celsius", 71u, celsius);
}

nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t, unsigned long long* millijoules) {
  return Read("nvmlDeviceGetTotalEnergyConsumption", "energy_mj", 1'234'567ull, millijoules);
}

#ifdef STAND_IN_EVENTS
#define STAND_IN_REASONS nvmlDeviceGetCurrentClocksEventReasons
#else
#define STAND_IN_REASONS nvmlDeviceGetCurrentClocksThrottleReasons
#endif
nvmlReturn_t STAND_IN_REASONS(nvmlDevice_t, unsigned long long* reasons) {
  return Read("reasons_function", "reasons", 0x4ull, reasons);
}

#endif

}  // extern "C"
