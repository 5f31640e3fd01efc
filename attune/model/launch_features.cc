#include "attune/model/launch_features.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "attune/model/shape_features.h"

namespace attune {
namespace {

constexpr size_t kLinear = 8;

double Number(int64_t x) { return static_cast<double>(x); }

// The part that all kernels of a problem share.
struct Work {
  double flops = 0;
  double bytes = 0;
  double outputs = 0;    // Elements.
  double reduction = 0;  // Products summed into each.
};

Work WorkOf(const Problem& problem) {
  Work work;
  work.flops = std::max(Flops(problem), 1.0);
  work.bytes = CompulsoryBytes(problem);
  work.outputs = Number(ElementCount(Operands(problem).back().tensor));
  work.reduction = work.flops / 2 / work.outputs;
  return work;
}

std::vector<double> ValuesOf(const Work& work, const KernelLaunch& launch,
                             int64_t multiprocessors) {
  const double blocks = Number(std::max<int64_t>(1, launch.blocks));
  const double sharing = Number(std::max<int64_t>(1, launch.blocks_per_multiprocessor));
  const double part = Waves(launch, multiprocessors);
  const double waves = std::ceil(part);
  // Blocks that a multiprocessor really has, where all fit at a time.
  const double busy =
      std::min(sharing, std::ceil(blocks / Number(std::max<int64_t>(1, multiprocessors))));
  const double block_outputs = work.outputs / blocks;
  const double block_work = block_outputs * work.reduction;
  return {1,
          waves,
          waves * work.reduction,
          waves * sharing * block_work,
          part,
          busy * block_work,
          work.bytes,
          work.flops,
          blocks,
          part / std::max(waves, 1.0),
          Number(launch.blocks_per_multiprocessor),
          Number(launch.threads),
          Number(launch.registers),
          Number(launch.shared_bytes),
          block_outputs,
          work.reduction};
}

}  // namespace

Result<FeatureSet> LaunchFeatures(std::string_view operator_name) {
  ATTUNE_ASSIGN_OR_RETURN(FeatureSet features, ShapeFeatures(operator_name));
  features.name = fmt::format("{}_launch_1", operator_name);
  features.kernel = {"one",       "waves",        "waves_q",       "waves_work",
                     "part",      "busy_work",    "bytes",         "flops",
                     "blocks",    "last_wave",    "sharing",       "threads",
                     "registers", "shared_bytes", "block_outputs", "reduction"};
  features.linear_kernel = kLinear;
  return features;
}

Result<FeatureSet> FeaturesCalled(std::string_view name, std::string_view operator_name) {
  ATTUNE_ASSIGN_OR_RETURN(FeatureSet features, LaunchFeatures(operator_name));
  return features.name == name ? features : ShapeFeatures(operator_name);
}

std::vector<KernelRow> KernelRowsOf(const Problem& problem, const LaunchProfile& profile) {
  const Work work = WorkOf(problem);
  std::vector<KernelRow> rows;
  for (const KernelLaunch& launch : profile.kernels) {
    rows.push_back({launch.signature, ValuesOf(work, launch, profile.multiprocessors)});
  }
  return rows;
}

}  // namespace attune
