// Hardware counters of a chip that need not be present: their names, the passes that collect them,
// and the collected values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "attune/base/status.h"
#include "backends/cuda/driver/cupti.h"

namespace attune::cuda {

// The configuration of the device's half of CUPTI.
struct CounterPlan {
  std::string chip;                   // "GH100"
  std::vector<std::string> counters;  // "dram__bytes_read.sum", in the order of their values.
  std::vector<uint8_t> config_image;
  size_t passes = 0;  // Number of runs of the same work that count all counters.

  friend bool operator==(const CounterPlan&, const CounterPlan&) = default;
};

// The chips that this CUPTI knows, as NVIDIA calls them: "GA100" (A100), "GH100" (H100, H200).
Result<std::vector<std::string>> ChipsWithCounters(const Cupti& cupti);

// Those of `counters` that `chip` lacks, in their order; kNotFound lists the chips if it is none.
Result<std::vector<std::string>> CountersMissing(const Cupti& cupti, const std::string& chip,
                                                 const std::vector<std::string>& counters);

// kNotFound names all that `chip` lacks; kInvalidArgument names those that exist but need a suffix,
// as "dram__bytes_read" without ".sum". Takes milliseconds.
Result<CounterPlan> PlanCounters(const Cupti& cupti, const std::string& chip,
                                 const std::vector<std::string>& counters);

// The values of the plan's counters in one range (one launch, where ranges are automatic) from a
// device's counter data. REQUIRES: CUPTI made `counter_data` for this plan: CUPTI trusts these
// bytes, and bytes from any other source may end the process.
Result<std::vector<double>> CounterValues(const Cupti& cupti, const CounterPlan& plan,
                                          std::span<const uint8_t> counter_data, size_t range);

}  // namespace attune::cuda
