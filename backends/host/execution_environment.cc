#include "backends/host/execution_environment.h"

#include <strings.h>
#include <sys/utsname.h>

#include <array>
#include <fstream>
#include <utility>

#include <fmt/format.h>

#include "attune/base/file.h"
#include "attune/base/process_variables.h"

namespace attune::host {
namespace {

constexpr const char* kUnknown = "unknown";

// Field and environment variable.
constexpr std::array<std::pair<const char*, const char*>, 5> kVariables = {{
    {kWaitPolicyField, kWaitPolicyVariable},
    {"policy.gomp_spincount", "GOMP_SPINCOUNT"},
    {"policy.omp_proc_bind", "OMP_PROC_BIND"},
    {"policy.openblas_thread_timeout", "OPENBLAS_THREAD_TIMEOUT"},
    {"policy.pocl_affinity", "POCL_AFFINITY"},
}};

}  // namespace

std::optional<std::string_view> WaitPolicyOf(std::string_view value) {
  constexpr std::string_view kBlanks = " \t\n\v\f\r";
  const size_t begin = value.find_first_not_of(kBlanks);
  if (begin == value.npos) return std::nullopt;
  const std::string_view word = value.substr(begin, value.find_last_not_of(kBlanks) + 1 - begin);
  for (const std::string_view policy : {"active", "passive"}) {
    const bool is_same = word.size() == policy.size() &&
                         ::strncasecmp(word.data(), policy.data(), policy.size()) == 0;
    if (is_same) return policy;
  }
  return std::nullopt;
}

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
    environment[field] = VariableOr(variable, "unset");
  }
  // Spellings of one policy are no difference.
  std::string& waiting = environment[kWaitPolicyField];
  waiting = WaitPolicyOf(waiting).value_or(waiting);
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
