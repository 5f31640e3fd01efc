// Properties of this process and machine that change times of all solvers: policies that records
// must agree with, and facts for the reader.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "attune/problem/target.h"

namespace attune::host {

// How idle threads of OpenMP wait.
inline constexpr const char* kWaitPolicyVariable = "OMP_WAIT_POLICY";
// Its field: every device has it if the processor's threads decide the device's times.
inline constexpr const char* kWaitPolicyField = "policy.omp_wait";

// Returns "active" or "passive", as OpenMP runtimes read `value` of OMP_WAIT_POLICY, without regard
// to its case and the blanks around it. Nothing if it is neither; runtimes ignore such a value.
std::optional<std::string_view> WaitPolicyOf(std::string_view value);

// "policy.*": how threads of the usual runtimes wait, whether they are bound, and how the frequency
// of the processor is governed. "host.*": the machine's name and its kernel. A variable that is not
// set or is empty is "unset"; a fact that the system does not report is "unknown".
Environment DescribeExecution();

// The frequency governor of core 0 ("performance"), and the boost of cores beyond their nominal
// frequency ("on", "off"). Read under `root` (/sys/devices/system/cpu); "unknown" if not readable,
// as in most virtual machines.
std::string FrequencyGovernor(const std::filesystem::path& root);
std::string FrequencyBoost(const std::filesystem::path& root);

}  // namespace attune::host
