// What of this process and machine changes times, whatever computes: policies that records must
// agree with, and facts for the reader.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "attune/problem/target.h"

namespace attune::host {

// How idle threads of OpenMP wait.
inline constexpr const char* kWaitPolicyVariable = "OMP_WAIT_POLICY";
// Its field: every device whose times the processor's threads decide has it.
inline constexpr const char* kWaitPolicyField = "policy.omp_wait";

// What OpenMP runtimes take `value` of OMP_WAIT_POLICY for, "active" or "passive", whatever its
// case and the blanks around it; nothing if it is neither, which they ignore.
std::optional<std::string_view> WaitPolicyOf(std::string_view value);

// "policy.*": how threads of the usual runtimes wait, whether they are bound, and how the frequency
// of the processor is governed. "host.*": the machine's name and its kernel. Every environment
// variable that is not set, or to nothing, is "unset", every fact that the system does not tell
// "unknown".
Environment DescribeExecution();

// What governs the frequency of core 0 ("performance"), and whether cores may exceed their nominal
// frequency ("on", "off"), as told under `root` (/sys/devices/system/cpu); "unknown" if not
// readable, as in most virtual machines.
std::string FrequencyGovernor(const std::filesystem::path& root);
std::string FrequencyBoost(const std::filesystem::path& root);

}  // namespace attune::host
