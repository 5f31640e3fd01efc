#include "backends/cuda/driver/nvml.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "backends/host/shared_library.h"

namespace attune::cuda {
namespace {

constexpr unsigned kMaxVersionBytes = 96;
constexpr double kMilliwattsPerWatt = 1000;

// Indexed by bit.
constexpr std::array<std::string_view, 9> kReasons = {"gpu_idle",
                                                      "applications_clocks_setting",
                                                      "sw_power_cap",
                                                      "hw_slowdown",
                                                      "sync_boost",
                                                      "sw_thermal_slowdown",
                                                      "hw_thermal_slowdown",
                                                      "hw_power_brake_slowdown",
                                                      "display_clock_setting"};

// The result of `read`; none if the function is missing, fails, or has no reading.
template <class Function, class... Which>
std::optional<int64_t> Reading(Function* read, nvmlDevice_t device, Which... which) {
  unsigned value = 0;
  if (read == nullptr || read(device, which..., &value) != kNvmlSuccess) return std::nullopt;
  if (value == kNvmlNotAvailable) return std::nullopt;
  return value;
}

std::optional<double> Watts(const std::optional<int64_t>& milliwatts) {
  if (!milliwatts.has_value()) return std::nullopt;
  return static_cast<double>(*milliwatts) / kMilliwattsPerWatt;
}

}  // namespace

std::vector<std::string> ClockReasons(uint64_t bits) {
  std::vector<std::string> words;
  for (size_t bit = 0; bit < 64; ++bit) {
    if ((bits >> bit & 1) == 0) continue;
    words.push_back(bit < kReasons.size() ? std::string(kReasons[bit])
                                          : fmt::format("bit_{}", bit));
  }
  std::sort(words.begin(), words.end());
  return words;
}

Nvml::Nvml(const std::string& name) {
  report_.name = "nvml";
  const Result<host::SharedLibrary> library = host::SharedLibrary::Open({name});
  if (!library.ok()) {
    report_.missing = fmt::format(
        "{} NVIDIA's driver brings it; without it nothing is recorded of clocks and power.",
        library.error().message());
    return;
  }
  report_.path = library->path();
  report_.build_id = library->build_id();
  auto* const initialise = library->FindFunction<nvmlInit_v2>("nvmlInit_v2");
  error_string_ = library->FindFunction<nvmlErrorString>("nvmlErrorString");
  handle_by_pci_bus_id_ =
      library->FindFunction<nvmlDeviceGetHandleByPciBusId_v2>("nvmlDeviceGetHandleByPciBusId_v2");
  if (initialise == nullptr || handle_by_pci_bus_id_ == nullptr) {
    report_.missing =
        fmt::format("{} lacks a function without which no device can be asked.", library->path());
    return;
  }
  if (const nvmlReturn_t code = initialise(); code != kNvmlSuccess) {
    report_.missing = fmt::format("{} cannot be initialised: {}.", library->path(), TextOf(code));
    return;
  }
  clock_info_ = library->FindFunction<nvmlDeviceGetClockInfo>("nvmlDeviceGetClockInfo");
  power_usage_ = library->FindFunction<nvmlDeviceGetPowerUsage>("nvmlDeviceGetPowerUsage");
  enforced_power_limit_ =
      library->FindFunction<nvmlDeviceGetEnforcedPowerLimit>("nvmlDeviceGetEnforcedPowerLimit");
  temperature_ = library->FindFunction<nvmlDeviceGetTemperature>("nvmlDeviceGetTemperature");
  total_energy_ = library->FindFunction<nvmlDeviceGetTotalEnergyConsumption>(
      "nvmlDeviceGetTotalEnergyConsumption");
  for (const char* either :
       {"nvmlDeviceGetCurrentClocksThrottleReasons", "nvmlDeviceGetCurrentClocksEventReasons"}) {
    auto* const found = library->FindFunction<nvmlDeviceGetCurrentClocksEventReasons>(either);
    if (found != nullptr) clocks_event_reasons_ = found;
  }
  report_.available = true;
  auto* const version =
      library->FindFunction<nvmlSystemGetDriverVersion>("nvmlSystemGetDriverVersion");
  char text[kMaxVersionBytes] = {};
  const bool is_known = version != nullptr && version(text, sizeof text) == kNvmlSuccess;
  if (is_known) report_.version = text;
}

std::string Nvml::TextOf(nvmlReturn_t code) const {
  const char* text = error_string_ == nullptr ? nullptr : error_string_(code);
  return fmt::format("{} (error {})", text == nullptr ? "no text" : text, code);
}

Result<nvmlDevice_t> Nvml::DeviceAt(const std::string& pci_bus_id) const {
  if (!available()) return Unavailable(report_.missing);
  nvmlDevice_t device = nullptr;
  const nvmlReturn_t code = handle_by_pci_bus_id_(pci_bus_id.c_str(), &device);
  if (code == kNvmlSuccess) return device;
  return Unavailable(
      fmt::format("NVML does not give the device at {}: {}.", pci_bus_id, TextOf(code)));
}

Result<int64_t> Nvml::ReadMillijoules(const std::string& pci_bus_id) const {
  ATTUNE_ASSIGN_OR_RETURN(const nvmlDevice_t device, DeviceAt(pci_bus_id));
  if (total_energy_ == nullptr) {
    return Unsupported(fmt::format("{} has no nvmlDeviceGetTotalEnergyConsumption.", report_.path));
  }
  unsigned long long millijoules = 0;
  if (const nvmlReturn_t code = total_energy_(device, &millijoules); code != kNvmlSuccess) {
    return Unsupported(fmt::format(
        "NVML does not tell what the device at {} draws: {}. GPUs from Volta on have the counter.",
        pci_bus_id, TextOf(code)));
  }
  return static_cast<int64_t>(millijoules);
}

Result<DeviceConditions> Nvml::Read(const std::string& pci_bus_id) const {
  ATTUNE_ASSIGN_OR_RETURN(const nvmlDevice_t device, DeviceAt(pci_bus_id));
  DeviceConditions conditions;
  conditions.compute_clock_mhz = Reading(clock_info_, device, kNvmlClockSm);
  conditions.memory_clock_mhz = Reading(clock_info_, device, kNvmlClockMemory);
  conditions.power_w = Watts(Reading(power_usage_, device));
  conditions.power_limit_w = Watts(Reading(enforced_power_limit_, device));
  conditions.temperature_c = Reading(temperature_, device, kNvmlSensorGpu);
  unsigned long long bits = 0;
  if (clocks_event_reasons_ != nullptr && clocks_event_reasons_(device, &bits) == kNvmlSuccess) {
    conditions.clock_reasons = ClockReasons(bits);
  }
  return conditions;
}

}  // namespace attune::cuda
