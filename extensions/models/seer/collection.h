// Gathers SEER's tables: chooses the layers and their order, and turns measurements into rows. An
// interface does the measuring; this code knows no device.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attune/base/status.h"
#include "extensions/models/seer/kernel_record.h"
#include "extensions/models/seer/operator_models.h"

namespace attune::seer {

// Hardware counters of one launch.
struct KernelCounters {
  double time_ms = 0;  // Above 0.
  double instructions = 0;
  double read_sectors = 0;
  double write_sectors = 0;
  double fp_utilisation = 0;  // 0 to 10.
  double dram_utilisation = 0;
};

// One kernel of a call.
struct LaunchedKernel {
  std::string name;
  int64_t blocks = 0;
  int64_t threads = 0;                     // Per block.
  int64_t blocks_per_multiprocessor = 0;   // That fit at once; 0: unknown.
  std::optional<KernelCounters> counters;  // None without counters, which is normal.
};

// One call.
struct LayerRun {
  double time_ms = 0;  // For the whole call, the median of its repeats.
  std::vector<LaunchedKernel> kernels;
};

// Runs layers on a device. Every call can fail with kUnsupported (the device does not compute it)
// or kResourceExhausted (it does not fit), which are recorded; any other failure ends a collection.
class LayerProbe {
 public:
  virtual ~LayerProbe() = default;
  virtual int64_t multiprocessors() const = 0;
  virtual Result<LayerRun> Run(const Layer& layer, int algorithm) = 0;
  // The algorithm that the vendor's heuristic would run; kUnsupported also if that cannot be
  // determined.
  virtual Result<int> VendorPick(const Layer& layer) = 0;
  // The time in ms of an operator of OperatorNames(), and for gradients of convolutions also of the
  // forward one.
  virtual Result<OperatorTime> RunOperator(std::string_view name, const Layer& layer) = 0;
};

// The results for the requested layers.
struct CollectionCounts {
  size_t measured = 0;
  size_t known = 0;          // Measured earlier, so skipped.
  size_t unsupported = 0;    // By the device.
  size_t too_large = 0;      // For its memory.
  size_t picks_unknown = 0;  // Rows of times with -1 for the vendor's pick.
  std::string pick_failure;  // Why the first of them has none.
  bool is_complete = true;   // False if the step stopped it.
};

// The main kernel of a call. Among kernels that multiply by their names, or all if there are none:
// the longest, or the one with most threads if no time is counted. REQUIRES: a kernel.
const LaunchedKernel& MainKernel(std::span<const LaunchedKernel> kernels);

// A row of SEER's table. FFTs have the time of the whole call, as SEER's have; others that of their
// main kernel where it was counted, else of the call. Without counters instructions, sectors and
// utilisations are 0. kUnsupported if a call launched no kernel, or if the number of its blocks
// that fit is unknown.
Result<KernelRecord> RecordOf(const Layer& layer, int algorithm, const LayerRun& run,
                              int64_t multiprocessors);

// Kernels around main ones as rows of operators: im2col before algorithm 2, the transforms around
// algorithm 7. Nothing for other algorithms, or without counters.
std::optional<OperatorTime> PreKernelsOf(const Layer& layer, int algorithm, const LayerRun& run,
                                         int64_t multiprocessors);

// Called after each measurement; returns true to continue.
using CollectionStep = std::function<Result<bool>(const CollectionCounts& so_far)>;

struct KernelTables {
  std::vector<KernelRecord> records;
  std::vector<OperatorTime> operators;  // Kernels around those of the records.
};
// Appends a record of `algorithm` for each layer that `records` lacks, and the times of kernels
// around them to `operators`.
Result<CollectionCounts> CollectKernels(LayerProbe& probe, int algorithm,
                                        std::span<const Layer> layers, const CollectionStep& step,
                                        KernelTables& tables);

// Appends the time of every algorithm (-1: not supported, -2: too large) and the vendor's pick for
// each layer that `times` lacks. A layer with an unknown pick has -1 for it, and its times.
Result<CollectionCounts> CollectTimes(LayerProbe& probe, std::span<const Layer> layers,
                                      const CollectionStep& step,
                                      std::vector<AlgorithmTimes>& times);

// The same for one operator.
Result<CollectionCounts> CollectOperator(LayerProbe& probe, std::string_view name,
                                         std::span<const Layer> layers, const CollectionStep& step,
                                         std::vector<OperatorTime>& times);

}  // namespace attune::seer
