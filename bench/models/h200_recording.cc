#include <array>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "attune/base/gzip.h"
#include "attune/ops/conv/conv.h"
#include "bench/models/recordings.h"
#include "extensions/models/samples/conv_features.h"
#include "extensions/models/seer/csv.h"

namespace attune::bench {
namespace {

constexpr int64_t kMultiprocessors = 132;
constexpr double kMostBlocks = 2147483647;  // CUDA's limit for a grid.

// "n,c,w,k,ow,f,s,p,algo" as it is written.
using OperationKey = std::string;

struct RecordedKernel {
  KernelLaunch launch;
  KernelLaunch captured;
  double time_ms = 0;
};

OperationKey KeyOf(const CsvRow& row, size_t fields) {
  std::string key;
  for (size_t i = 0; i < fields; ++i) (key += row.fields[i]) += ',';
  return key;
}

Result<Conv> ConvOf(const CsvRow& row) {
  std::array<int64_t, 8> numbers = {};
  for (size_t i = 0; i < numbers.size(); ++i) {
    ATTUNE_ASSIGN_OR_RETURN(numbers[i], WholeIn(row, i, 0, kMostWhole));
  }
  const auto [n, c, w, k, ow, f, s, p] = numbers;
  Conv conv;
  conv.batch = n;
  conv.in_channels = c;
  conv.out_channels = k;
  conv.in = {1, w, w};
  conv.filter = {1, f, f};
  conv.stride = {1, s, s};
  conv.pad = {0, p, p};
  const Status valid = Validate(conv);
  if (!valid.ok()) return valid.WithContext(fmt::format("Line {}", row.line));
  if (OutputExtent(conv)[1] != ow) {
    return InvalidArgument(fmt::format("Line {}: the output is not {} wide.", row.line, ow));
  }
  return conv;
}

// The launch in columns of these positions: grid, block, registers, static and dynamic shared
// memory, blocks on a multiprocessor.
Result<KernelLaunch> LaunchOf(const CsvRow& row, const std::vector<size_t>& columns) {
  std::array<int64_t, 6> numbers = {};
  for (size_t i = 0; i < numbers.size(); ++i) {
    ATTUNE_ASSIGN_OR_RETURN(numbers[i], WholeIn(row, columns[i], 0, kMostBlocks));
  }
  return KernelLaunch{"", numbers[0], numbers[1], numbers[2], numbers[3] + numbers[4], numbers[5]};
}

Result<std::map<OperationKey, std::vector<RecordedKernel>>> ReadKernels(const CsvTable& table) {
  ATTUNE_ASSIGN_OR_RETURN(
      const std::vector<size_t> real,
      ColumnsOf(table, {"grid", "block", "regs", "ssmem", "dsmem", "occ", "us", "name"}));
  ATTUNE_ASSIGN_OR_RETURN(const std::vector<size_t> captured,
                          ColumnsOf(table, {"cap_grid", "cap_block", "regs", "ssmem", "cap_dsmem",
                                            "cap_occ", "cap_name"}));
  std::map<OperationKey, std::vector<RecordedKernel>> kernels;
  std::map<std::string, KernelLaunch> of_name;
  for (const CsvRow& row : table.rows) {
    RecordedKernel kernel;
    ATTUNE_ASSIGN_OR_RETURN(kernel.launch, LaunchOf(row, real));
    kernel.launch.signature = row.fields[real[7]];
    ATTUNE_ASSIGN_OR_RETURN(const double us, NumberIn(row, real[6], 1e-6));
    kernel.time_ms = us / 1000;
    // Some were not captured: the name in their row is empty.
    const std::string& name = row.fields[captured[6]];
    if (const auto launch = LaunchOf(row, captured); !name.empty() && launch.ok()) {
      kernel.captured = *launch;
      kernel.captured.signature = name == "=" ? kernel.launch.signature : name;
    }
    of_name[kernel.launch.signature] = kernel.launch;
    kernels[KeyOf(row, 9)].push_back(std::move(kernel));
  }
  // Registers are the kernel's own, and those of its row are another's where the capture has
  // another order. Static memory stays that of the row.
  for (auto& [key, list] : kernels) {
    for (RecordedKernel& kernel : list) {
      const auto known = of_name.find(kernel.captured.signature);
      if (known != of_name.end()) kernel.captured.registers = known->second.registers;
    }
  }
  return kernels;
}

// One algorithm in a line of the table of times.
struct RecordedOperation {
  std::string algorithm;
  double time_ms = 0;
  int64_t launches = 0;
};

void AddSample(const Conv& conv, const RecordedOperation& operation,
               const std::vector<RecordedKernel>& kernels, RecordedProblem& problem) {
  LaunchProfile real;
  LaunchProfile captured;
  real.launches = captured.launches = operation.launches;
  real.multiprocessors = captured.multiprocessors = kMultiprocessors;
  Sample sample;
  for (const RecordedKernel& kernel : kernels) {
    real.kernels.push_back(kernel.launch);
    if (!kernel.captured.signature.empty()) captured.kernels.push_back(kernel.captured);
    sample.kernel_times_ms.push_back(kernel.time_ms);
  }
  sample.row = ConvRow(conv, operation.algorithm, real);
  sample.time_ms = operation.time_ms;
  problem.samples.push_back(std::move(sample));
  problem.asked.push_back(ConvRow(conv, operation.algorithm, captured));
}

}  // namespace

Result<Recording> ReadH200(const std::filesystem::path& data, const std::string& name) {
  ATTUNE_ASSIGN_OR_RETURN(const std::string kernel_text,
                          ReadFileUnpacked(data / "h200" / fmt::format("kern_{}.csv.gz", name)));
  ATTUNE_ASSIGN_OR_RETURN(const CsvTable kernel_table, ReadCsv(kernel_text));
  ATTUNE_ASSIGN_OR_RETURN(const auto kernels, ReadKernels(kernel_table));
  ATTUNE_ASSIGN_OR_RETURN(const std::string text,
                          ReadFileUnpacked(data / "h200" / fmt::format("time_{}.csv.gz", name)));
  ATTUNE_ASSIGN_OR_RETURN(const CsvTable table, ReadCsv(text));
  ATTUNE_ASSIGN_OR_RETURN(
      const std::vector<size_t> columns,
      ColumnsOf(table, {"algo", "ms_event", "ms_kernels", "heur", "nk", "cap_us"}));
  Recording recording{ConvFeatures(), {}, {}};
  std::map<std::string, size_t> positions;
  for (const CsvRow& row : table.rows) {
    ATTUNE_ASSIGN_OR_RETURN(const double event_ms, NumberIn(row, columns[1]));
    if (event_ms <= 0) continue;  // cuDNN does not support it.
    ATTUNE_ASSIGN_OR_RETURN(const Conv conv, ConvOf(row));
    RecordedOperation operation{row.fields[columns[0]], 0, 0};
    ATTUNE_ASSIGN_OR_RETURN(operation.time_ms, NumberIn(row, columns[2], 1e-6));
    ATTUNE_ASSIGN_OR_RETURN(operation.launches, WholeIn(row, columns[4], 0, kMostWhole));
    if (const auto dry_run_us = NumberIn(row, columns[5]); dry_run_us.ok() && *dry_run_us > 0) {
      recording.dry_runs_us.push_back(*dry_run_us);
    }
    const auto [at, is_new] = positions.emplace(KeyOf(row, 8), recording.problems.size());
    if (is_new) recording.problems.emplace_back();
    RecordedProblem& problem = recording.problems[at->second];
    const bool is_pick = row.fields[columns[3]] == operation.algorithm;
    double& vendor_ms = problem.vendor_ms.try_emplace("vendor", 0).first->second;
    if (is_pick) vendor_ms = operation.time_ms;
    const auto found = kernels.find(KeyOf(row, 9));
    AddSample(conv, operation,
              found == kernels.end() ? std::vector<RecordedKernel>() : found->second, problem);
    problem.samples.back().configuration = at->second;
  }
  return recording;
}

}  // namespace attune::bench
