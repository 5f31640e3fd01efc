#include "backends/host/execution_environment.h"

#include <sys/utsname.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <utility>

#include <fmt/format.h>

namespace attune::host {
namespace {

constexpr const char* kUnknown = "unknown";

// Field and environment variable.
constexpr std::array<std::pair<const char*, const char*>, 5> kVariables = {{
    {"policy.omp_wait", "OMP_WAIT_POLICY"},
    {"policy.gomp_spincount", "GOMP_SPINCOUNT"},
    {"policy.omp_proc_bind", "OMP_PROC_BIND"},
    {"policy.openblas_thread_timeout", "OPENBLAS_THREAD_TIMEOUT"},
    {"policy.pocl_affinity", "POCL_AFFINITY"},
}};

std::string FirstLine(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace

std::string FrequencyGovernor(const std::filesystem::path& root) {
  const std::string governor = FirstLine(root / "cpu0/cpufreq/scaling_governor");
  return governor.empty() ? kUnknown : governor;
}

std::string FrequencyBoost(const std::filesystem::path& root) {
  const std::string boost = FirstLine(root / "cpufreq/boost");
  if (!boost.empty()) return boost == "0" ? "off" : "on";
  const std::string no_turbo = FirstLine(root / "intel_pstate/no_turbo");
  if (!no_turbo.empty()) return no_turbo == "0" ? "on" : "off";
  return kUnknown;
}

Environment DescribeExecution() {
  Environment environment;
  for (const auto& [field, variable] : kVariables) {
    const char* value = std::getenv(variable);
    environment[field] = value == nullptr ? "unset" : value;
  }
  const std::filesystem::path processors = "/sys/devices/system/cpu";
  environment["policy.frequency"] = FrequencyGovernor(processors);
  environment["policy.boost"] = FrequencyBoost(processors);
  utsname system{};
  const bool is_known = ::uname(&system) == 0;
  environment["host.kernel"] =
      is_known ? fmt::format("{} {}", system.sysname, system.release) : kUnknown;
  environment["host.name"] = is_known ? system.nodename : kUnknown;
  return environment;
}

}  // namespace attune::host
