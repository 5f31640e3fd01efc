// NVIDIA's management library, loaded at run time and only read from: clocks, power, temperature
// and the reasons that limit the clock.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attune/base/status.h"
#include "attune/solver/backend.h"
#include "attune/trial/device_conditions.h"
#include "backends/cuda/driver/nvml_api.h"

namespace attune::cuda {

// Loaded by its constructor, and initialised for the life of the process. Immutable and thread-safe
// afterwards.
class Nvml {
 public:
  // By the driver's name for it.
  Nvml() : Nvml("libnvidia-ml.so.1") {}
  // A file name or a path.
  explicit Nvml(const std::string& library);

  const LibraryReport& report() const { return report_; }
  bool available() const { return report_.available; }

  // Conditions of the device at `pci_bus_id` ("0000:1B:00.0"), under any number in this process.
  // Readings that this driver or device does not provide are absent. kUnavailable gives the reason
  // if nothing can be read.
  Result<DeviceConditions> Read(const std::string& pci_bus_id) const;

  // Energy that the device drew since its driver was loaded, in millijoules. kUnsupported if it
  // does not count, kUnavailable if nothing can be read.
  Result<int64_t> ReadMillijoules(const std::string& pci_bus_id) const;

 private:
  Result<nvmlDevice_t> DeviceAt(const std::string& pci_bus_id) const;
  // "Unknown Error (error 999)".
  std::string TextOf(nvmlReturn_t code) const;

  LibraryReport report_;
  nvmlErrorString* error_string_ = nullptr;
  nvmlDeviceGetHandleByPciBusId_v2* handle_by_pci_bus_id_ = nullptr;
  // These may be missing; null then.
  nvmlDeviceGetClockInfo* clock_info_ = nullptr;
  nvmlDeviceGetPowerUsage* power_usage_ = nullptr;
  nvmlDeviceGetEnforcedPowerLimit* enforced_power_limit_ = nullptr;
  nvmlDeviceGetTemperature* temperature_ = nullptr;
  nvmlDeviceGetTotalEnergyConsumption* total_energy_ = nullptr;
  nvmlDeviceGetCurrentClocksEventReasons* clocks_event_reasons_ = nullptr;
};

// NVML's bits by the names in DeviceConditions, ascending: "gpu_idle", "sw_power_cap"; "bit_40" for
// a bit without a name.
std::vector<std::string> ClockReasons(uint64_t bits);

}  // namespace attune::cuda
