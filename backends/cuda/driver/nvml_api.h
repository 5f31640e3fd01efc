// The part of NVML that is called, declared here: the toolkit's nvml.h is a package of its own that
// need not be where this is built. Types and numbers are those of NVML's stable interface.
#pragma once

#include <climits>

namespace attune::cuda {

using nvmlReturn_t = int;
using nvmlDevice_t = struct nvmlDevice_st*;

inline constexpr nvmlReturn_t kNvmlSuccess = 0;
// The value of an absent reading (NVML_VALUE_NOT_AVAILABLE).
inline constexpr unsigned kNvmlNotAvailable = UINT_MAX;

enum NvmlClock : int { kNvmlClockSm = 1, kNvmlClockMemory = 2 };
enum NvmlSensor : int { kNvmlSensorGpu = 0 };

using nvmlInit_v2 = nvmlReturn_t();
using nvmlErrorString = const char*(nvmlReturn_t);
using nvmlSystemGetDriverVersion = nvmlReturn_t(char* version, unsigned length);
using nvmlDeviceGetHandleByPciBusId_v2 = nvmlReturn_t(const char* pci_bus_id, nvmlDevice_t* device);
using nvmlDeviceGetClockInfo = nvmlReturn_t(nvmlDevice_t, NvmlClock, unsigned* mhz);
using nvmlDeviceGetPowerUsage = nvmlReturn_t(nvmlDevice_t, unsigned* milliwatts);
using nvmlDeviceGetEnforcedPowerLimit = nvmlReturn_t(nvmlDevice_t, unsigned* milliwatts);
using nvmlDeviceGetTemperature = nvmlReturn_t(nvmlDevice_t, NvmlSensor, unsigned* celsius);
// Since the driver was loaded; GPUs from Volta on have it.
using nvmlDeviceGetTotalEnergyConsumption = nvmlReturn_t(nvmlDevice_t,
                                                         unsigned long long* millijoules);
// Called nvmlDeviceGetCurrentClocksThrottleReasons before driver 535.
using nvmlDeviceGetCurrentClocksEventReasons = nvmlReturn_t(nvmlDevice_t, unsigned long long*);

}  // namespace attune::cuda
