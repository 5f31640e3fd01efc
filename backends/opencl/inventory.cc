#include "backends/opencl/inventory.h"

#include <algorithm>

#include <fmt/format.h>

#include "attune/base/new_libraries.h"
#include "attune/base/signals_blocked.h"
#include "attune/kernel/kernel_file.h"

namespace attune::opencl {
namespace {

constexpr cl_uint kMaxPlatforms = 64;
constexpr cl_uint kMaxDevices = 64;
// From cl_khr_icd: the loader found no platform.
constexpr cl_int kPlatformNotFound = -1001;

std::string PlatformText(cl_platform_id platform, cl_platform_info what) {
  size_t size = 0;
  if (clGetPlatformInfo(platform, what, 0, nullptr, &size) != CL_SUCCESS || size == 0) return "";
  std::string text(size, '\0');
  if (clGetPlatformInfo(platform, what, size, text.data(), nullptr) != CL_SUCCESS) return "";
  text.resize(text.find('\0'));
  return text;
}

std::string DeviceText(cl_device_id device, cl_device_info what) {
  size_t size = 0;
  if (clGetDeviceInfo(device, what, 0, nullptr, &size) != CL_SUCCESS || size == 0) return "";
  std::string text(size, '\0');
  if (clGetDeviceInfo(device, what, size, text.data(), nullptr) != CL_SUCCESS) return "";
  text.resize(text.find('\0'));
  return text;
}

template <class T>
T DeviceNumber(cl_device_id device, cl_device_info what) {
  T value = 0;
  return clGetDeviceInfo(device, what, sizeof value, &value, nullptr) == CL_SUCCESS ? value : 0;
}

// PoCL names its target CPU after "HSTR: "; others have nothing but their version.
std::string ArchOf(const DeviceEntry& entry) {
  constexpr std::string_view kMark = "HSTR: ";
  const size_t mark = entry.device_version.find(kMark);
  if (mark != std::string::npos) return entry.device_version.substr(mark + kMark.size());
  return fmt::format("{} {}", entry.device_version, entry.driver_version);
}

Target TargetOf(const DeviceEntry& entry) {
  Target target;
  target.backend = "opencl";
  target.device = DeviceText(entry.device, CL_DEVICE_NAME);
  target.arch = ArchOf(entry);
  target.compute_units =
      static_cast<int>(DeviceNumber<cl_uint>(entry.device, CL_DEVICE_MAX_COMPUTE_UNITS));
  target.properties["max_work_group_size"] =
      std::to_string(DeviceNumber<size_t>(entry.device, CL_DEVICE_MAX_WORK_GROUP_SIZE));
  target.properties["local_memory_bytes"] =
      std::to_string(DeviceNumber<cl_ulong>(entry.device, CL_DEVICE_LOCAL_MEM_SIZE));
  // Omits the largest allocation: PoCL derives it from the currently free memory.
  return target;
}

std::string ReasonAgainst(cl_device_id device) {
  if (DeviceNumber<cl_bool>(device, CL_DEVICE_AVAILABLE) == CL_FALSE)
    return "The device is not available.";
  if (DeviceNumber<cl_bool>(device, CL_DEVICE_COMPILER_AVAILABLE) == CL_FALSE) {
    return "The device has no compiler.";
  }
  return "";
}

DeviceEntry EntryOf(cl_platform_id platform, cl_device_id device, size_t number) {
  DeviceEntry entry;
  entry.platform = platform;
  entry.device = device;
  entry.spec = fmt::format("opencl:{}", number);
  entry.platform_name = PlatformText(platform, CL_PLATFORM_NAME);
  entry.platform_version = PlatformText(platform, CL_PLATFORM_VERSION);
  entry.device_version = DeviceText(device, CL_DEVICE_VERSION);
  entry.driver_version = DeviceText(device, CL_DRIVER_VERSION);
  entry.is_pocl = entry.platform_name == "Portable Computing Language";
  entry.is_cpu = (DeviceNumber<cl_device_type>(device, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_CPU) != 0;
  entry.cache_bytes = DeviceNumber<cl_ulong>(device, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE);
  entry.target = TargetOf(entry);
  entry.reason = ReasonAgainst(device);
  return entry;
}

}  // namespace

std::string DeviceEntry::CompilerIdentity() const {
  return fmt::format("{} | {} | {}", platform_name, platform_version, driver_version);
}

std::string DeviceEntry::CodeIdentity() const {
  return fmt::format("{} | {} | {}", target.device, device_version, target.arch);
}

void Inventory::Read() const {
  cl_platform_id platforms[kMaxPlatforms];
  cl_uint platform_count = 0;
  // Drivers start threads here.
  const SignalsBlocked signals;
  const NewLibraries libraries;
  const cl_int code = clGetPlatformIDs(kMaxPlatforms, platforms, &platform_count);
  libraries.KeepStaticObjects();
  if (code == kPlatformNotFound || (code == CL_SUCCESS && platform_count == 0)) {
    missing_ =
        "The ICD loader found no OpenCL platform. Install one, for example the Debian package "
        "pocl-opencl-icd, or check OCL_ICD_VENDORS.";
    return;
  }
  if (code != CL_SUCCESS) {
    missing_ = fmt::format("clGetPlatformIDs failed: {}.", ClErrorName(code));
    return;
  }
  for (cl_uint p = 0; p < std::min(platform_count, kMaxPlatforms); ++p) {
    cl_device_id devices[kMaxDevices];
    cl_uint device_count = 0;
    if (clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, kMaxDevices, devices, &device_count) !=
        CL_SUCCESS) {
      continue;
    }
    for (cl_uint d = 0; d < std::min(device_count, kMaxDevices); ++d) {
      devices_.push_back(EntryOf(platforms[p], devices[d], devices_.size()));
    }
  }
  if (devices_.empty()) missing_ = "The OpenCL platforms of this machine have no device.";
}

const std::vector<DeviceEntry>& Inventory::Devices() const {
  std::call_once(read_, [this] { Read(); });
  return devices_;
}

const std::string& Inventory::missing() const {
  Devices();
  return missing_;
}

Result<const DeviceEntry*> Inventory::Find(std::string_view spec) const {
  std::string known;
  for (const DeviceEntry& entry : Devices()) {
    if (entry.spec == spec) return &entry;
    known += (known.empty() ? "" : ", ") + entry.spec;
  }
  return NotFound(fmt::format("There is no OpenCL device '{}'. Devices here: {}.", spec,
                              known.empty() ? "none" : known));
}

Result<const DeviceEntry*> Inventory::FindLike(const Target& target) const {
  for (const DeviceEntry& entry : Devices()) {
    if (entry.target == target && entry.reason.empty()) return &entry;
  }
  return Unavailable(fmt::format("There is no usable OpenCL device '{}' here.", Text(target)));
}

}  // namespace attune::opencl
