#include "extensions/models/seer/collection.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "extensions/models/seer/training_tables.h"

namespace attune::seer {
namespace {

constexpr double kUnsupportedMs = -1;
constexpr double kTooLargeMs = -2;

bool Multiplies(const LaunchedKernel& kernel) {
  std::string name = kernel.name;
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  if (name.find("im2col") != name.npos) return false;
  for (const std::string_view word : {"gemm", "convolve", "fprop", "_148", "_228", "_418"}) {
    if (name.find(word) != name.npos) return true;
  }
  return false;
}

double SizeOf(const LaunchedKernel& kernel) {
  if (kernel.counters) return kernel.counters->time_ms;
  return static_cast<double>(kernel.blocks) * static_cast<double>(kernel.threads);
}

// Records an expected failure; others end the collection.
Status NoteFailure(const Status& failure, CollectionCounts& counts) {
  if (failure.code() == StatusCode::kUnsupported) {
    ++counts.unsupported;
    return Status::Ok();
  }
  if (failure.code() == StatusCode::kResourceExhausted) {
    ++counts.too_large;
    return Status::Ok();
  }
  return failure;
}

// The vendor's pick, or -1 and a note of the reason if it is unknown. Any failure not caused by the
// layer itself ends the collection, which measures the layer again when it resumes.
Result<int> PickOf(LayerProbe& probe, const Layer& layer, CollectionCounts& counts) {
  const auto pick = probe.VendorPick(layer);
  const StatusCode code = pick.status().code();
  if (code != StatusCode::kUnsupported && code != StatusCode::kResourceExhausted) return pick;
  if (counts.picks_unknown++ == 0) counts.pick_failure = pick.status().message();
  return -1;
}

// Measures the layers with keys that are not in `known`. `measure` adds a row, or fails.
template <class Measure>
Result<CollectionCounts> CollectEach(std::span<const Layer> layers, std::set<LayerKey> known,
                                     const CollectionStep& step, Measure measure) {
  CollectionCounts counts;
  for (const Layer& layer : layers) {
    if (!known.insert(KeyOf(layer)).second) {
      ++counts.known;
      continue;
    }
    const Status measured = measure(layer, counts);
    if (measured.ok()) {
      ++counts.measured;
    } else {
      ATTUNE_RETURN_IF_ERROR(NoteFailure(measured, counts));
    }
    ATTUNE_ASSIGN_OR_RETURN(counts.is_complete, step(counts));
    if (!counts.is_complete) break;
  }
  return counts;
}

}  // namespace

const LaunchedKernel& MainKernel(std::span<const LaunchedKernel> kernels) {
  return *std::ranges::max_element(kernels, {}, [](const LaunchedKernel& kernel) {
    return std::pair(Multiplies(kernel), SizeOf(kernel));
  });
}

Result<KernelRecord> RecordOf(const Layer& layer, int algorithm, const LayerRun& run,
                              int64_t multiprocessors) {
  if (run.kernels.empty()) {
    return Unsupported("The call launched no kernel that could be seen, so there is no row of it.");
  }
  const LaunchedKernel& kernel = MainKernel(run.kernels);
  if (kernel.blocks_per_multiprocessor <= 0 || multiprocessors <= 0) {
    return Unsupported(fmt::format(
        "Nobody knows how many blocks of '{}' fit on the device, so there is no row of it.",
        kernel.name));
  }
  const bool is_fft = algorithm == 4 || algorithm == 5;
  KernelRecord record;
  record.layer = layer;
  record.algorithm = algorithm;
  record.time_ms = !is_fft && kernel.counters ? kernel.counters->time_ms : run.time_ms;
  record.resident_blocks = static_cast<double>(kernel.blocks_per_multiprocessor * multiprocessors);
  record.blocks = static_cast<double>(kernel.blocks);
  record.waves = std::ceil(record.blocks / record.resident_blocks);
  if (kernel.counters) {
    record.instructions = kernel.counters->instructions;
    record.read_sectors = kernel.counters->read_sectors;
    record.write_sectors = kernel.counters->write_sectors;
    record.fp_utilisation = kernel.counters->fp_utilisation;
    record.dram_utilisation = kernel.counters->dram_utilisation;
  }
  return record;
}

std::optional<OperatorTime> PreKernelsOf(const Layer& layer, int algorithm, const LayerRun& run,
                                         int64_t multiprocessors) {
  if ((algorithm != 2 && algorithm != 7) || run.kernels.size() < 2) return std::nullopt;
  const LaunchedKernel* const main = &MainKernel(run.kernels);
  OperatorTime time{"im2col", layer, 0, 0};
  for (const LaunchedKernel& kernel : run.kernels) {
    if (!kernel.counters) return std::nullopt;
    if (&kernel != main) time.time_ms += kernel.counters->time_ms;
  }
  if (algorithm == 2) return time;
  // Transforms belong to the variant of the kernel around which they run.
  const auto record = RecordOf(layer, algorithm, run, multiprocessors);
  if (!record.ok()) return std::nullopt;
  const SortedRecords sorted = SortRecords(std::span(&*record, 1), multiprocessors, Rules::kFixed);
  if (sorted.kernels.empty()) return std::nullopt;
  time.name = sorted.kernels.begin()->first;
  return time;
}

Result<CollectionCounts> CollectKernels(LayerProbe& probe, int algorithm,
                                        std::span<const Layer> layers, const CollectionStep& step,
                                        KernelTables& tables) {
  std::set<LayerKey> known;
  for (const KernelRecord& record : tables.records) {
    if (record.algorithm == algorithm) known.insert(KeyOf(record.layer));
  }
  const auto measure = [&](const Layer& layer, CollectionCounts&) -> Status {
    ATTUNE_ASSIGN_OR_RETURN(const LayerRun run, probe.Run(layer, algorithm));
    ATTUNE_ASSIGN_OR_RETURN(const KernelRecord record,
                            RecordOf(layer, algorithm, run, probe.multiprocessors()));
    tables.records.push_back(record);
    const auto around = PreKernelsOf(layer, algorithm, run, probe.multiprocessors());
    if (around) tables.operators.push_back(*around);
    return Status::Ok();
  };
  return CollectEach(layers, std::move(known), step, measure);
}

Result<CollectionCounts> CollectTimes(LayerProbe& probe, std::span<const Layer> layers,
                                      const CollectionStep& step,
                                      std::vector<AlgorithmTimes>& times) {
  std::set<LayerKey> known;
  for (const AlgorithmTimes& row : times) known.insert(KeyOf(row.layer));
  const auto measure = [&](const Layer& layer, CollectionCounts& counts) -> Status {
    AlgorithmTimes row;
    row.layer = layer;
    for (int i = 0; i < kAlgorithms; ++i) {
      const auto run = probe.Run(layer, i);
      double& time_ms = row.times_ms[static_cast<size_t>(i)];
      if (run.ok()) {
        time_ms = run->time_ms;
        continue;
      }
      time_ms =
          run.status().code() == StatusCode::kResourceExhausted ? kTooLargeMs : kUnsupportedMs;
      ATTUNE_RETURN_IF_ERROR(NoteFailure(run.error(), counts));
    }
    ATTUNE_ASSIGN_OR_RETURN(row.vendor_pick, PickOf(probe, layer, counts));
    times.push_back(row);
    return Status::Ok();
  };
  return CollectEach(layers, std::move(known), step, measure);
}

Result<CollectionCounts> CollectOperator(LayerProbe& probe, std::string_view name,
                                         std::span<const Layer> layers, const CollectionStep& step,
                                         std::vector<OperatorTime>& times) {
  std::set<LayerKey> known;
  for (const OperatorTime& time : times) {
    if (time.name == name) known.insert(KeyOf(time.layer));
  }
  const auto measure = [&](const Layer& layer, CollectionCounts&) -> Status {
    ATTUNE_ASSIGN_OR_RETURN(OperatorTime time, probe.RunOperator(name, layer));
    times.push_back(std::move(time));
    return Status::Ok();
  };
  return CollectEach(layers, std::move(known), step, measure);
}

}  // namespace attune::seer
