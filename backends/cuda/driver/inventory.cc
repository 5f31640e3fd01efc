#include "backends/cuda/driver/inventory.h"

#include <utility>

#include <fmt/format.h>

namespace attune::cuda {
namespace {

constexpr int kMaxNameBytes = 256;
// The oldest that NVRTC 13 still builds for.
constexpr int kLeastMajor = 7;
constexpr int kLeastMinor = 5;

int Attribute(const Driver& driver, CUdevice device, CUdevice_attribute which) {
  int value = 0;
  return driver.cuDeviceGetAttribute(&value, which, device) == CUDA_SUCCESS ? value : 0;
}

std::string Name(const Driver& driver, CUdevice device) {
  char name[kMaxNameBytes] = {};
  return driver.cuDeviceGetName(name, sizeof name, device) == CUDA_SUCCESS ? name : "unknown";
}

DeviceEntry EntryOf(const Driver& driver, int number) {
  DeviceEntry entry;
  entry.spec = fmt::format("cuda:{}", number);
  const CUresult got = driver.cuDeviceGet(&entry.device, number);
  if (got != CUDA_SUCCESS) {
    entry.reason = CudaStatus(driver, got, "The driver does not give this device").message();
    return entry;
  }
  const auto attribute = [&](CUdevice_attribute which) {
    return Attribute(driver, entry.device, which);
  };
  const int major = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  const int minor = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  char bus_id[kMaxNameBytes] = {};
  driver.cuDeviceGetPCIBusId(bus_id, sizeof bus_id, entry.device);
  driver.cuDeviceTotalMem(&entry.memory_bytes, entry.device);
  entry.pci_bus_id = bus_id;
  entry.l2_bytes = static_cast<size_t>(attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE));
  entry.target.backend = "cuda";
  entry.target.device = Name(driver, entry.device);
  entry.target.arch = fmt::format("sm_{}{}", major, minor);
  entry.target.compute_units = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  entry.target.properties = {
      {"max_work_group_size", std::to_string(attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK))},
      {"local_memory_bytes",
       std::to_string(attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN))},
      {"l2_bytes", std::to_string(entry.l2_bytes)}};
  if (std::pair(major, minor) < std::pair(kLeastMajor, kLeastMinor)) {
    entry.reason = fmt::format("Compute capability {}.{}; the least that is used is {}.{}.", major,
                               minor, kLeastMajor, kLeastMinor);
  } else if (attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_MODE) == CU_COMPUTEMODE_PROHIBITED) {
    entry.reason =
        "The device's compute mode forbids contexts; 'nvidia-smi -q -d COMPUTE' shows it.";
  }
  return entry;
}

}  // namespace

void Inventory::Read() const {
  if (!driver_.available()) return;
  int count = 0;
  if (driver_.cuDeviceGetCount(&count) != CUDA_SUCCESS) return;
  for (int number = 0; number < count; ++number) devices_.push_back(EntryOf(driver_, number));
}

const std::vector<DeviceEntry>& Inventory::Devices() const {
  std::call_once(read_, [this] { Read(); });
  return devices_;
}

Result<const DeviceEntry*> Inventory::Find(std::string_view spec) const {
  std::string known;
  for (const DeviceEntry& entry : Devices()) {
    if (entry.spec == spec) return &entry;
    known += (known.empty() ? "" : ", ") + entry.spec;
  }
  return NotFound(fmt::format("There is no CUDA device '{}'. Devices here: {}.{}{}", spec,
                              known.empty() ? "none" : known, driver_.available() ? "" : " ",
                              driver_.report.missing));
}

}  // namespace attune::cuda
