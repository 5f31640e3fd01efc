#include "extensions/models/seer/kernel_record.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "extensions/models/seer/csv.h"
#include "extensions/models/seer/table_rows.h"

namespace attune::seer {
namespace {

constexpr std::string_view kKernelHeader =
    "N,C,W,K,P,f,s,p,algorithm,time_ms,inst_fp_32,dram_reads,dram_writes,Bmax,B,n,"
    "fp_utilisation,dram_utilisation";
constexpr std::string_view kTimesHeader = "N,C,W,K,P,f,s,p,t0,t1,t2,t3,t4,t5,t6,t7,pick";
constexpr size_t kKernelColumns = 18;
constexpr double kMostUtilisation = 10;
constexpr size_t kTimesColumns = 16;  // And the pick.

Result<double> UtilisationIn(const CsvRow& row, size_t column) {
  ATTUNE_ASSIGN_OR_RETURN(const double value, NumberIn(row, column, 0));
  if (value <= kMostUtilisation) return value;
  return WrongRow(row,
                  fmt::format("column {}: {} is above {}. Utilisations are tenths of the most.",
                              column + 1, value, kMostUtilisation));
}

Result<KernelRecord> RecordIn(const CsvRow& row, AlgorithmOrder order) {
  if (row.fields.size() != kKernelColumns) {
    return WrongRow(row,
                    fmt::format("{} columns, where {} belong.", row.fields.size(), kKernelColumns));
  }
  KernelRecord record;
  ATTUNE_ASSIGN_OR_RETURN(record.layer, LayerIn(row));
  ATTUNE_ASSIGN_OR_RETURN(const int64_t number, WholeIn(row, 8, 0, kAlgorithms - 1));
  record.algorithm = CudnnNumber(static_cast<int>(number), order);
  ATTUNE_ASSIGN_OR_RETURN(record.time_ms, TimeIn(row, 9));
  ATTUNE_ASSIGN_OR_RETURN(record.instructions, NumberIn(row, 10, 0));
  ATTUNE_ASSIGN_OR_RETURN(record.read_sectors, NumberIn(row, 11, 0));
  ATTUNE_ASSIGN_OR_RETURN(record.write_sectors, NumberIn(row, 12, 0));
  ATTUNE_ASSIGN_OR_RETURN(record.resident_blocks, AboveZero(row, 13));
  ATTUNE_ASSIGN_OR_RETURN(record.blocks, AboveZero(row, 14));
  record.waves = std::ceil(record.blocks / record.resident_blocks);
  ATTUNE_ASSIGN_OR_RETURN(record.fp_utilisation, UtilisationIn(row, 16));
  ATTUNE_ASSIGN_OR_RETURN(record.dram_utilisation, UtilisationIn(row, 17));
  return record;
}

Result<AlgorithmTimes> TimesIn(const CsvRow& row, AlgorithmOrder order) {
  const size_t columns = row.fields.size();
  if (columns != kTimesColumns && columns != kTimesColumns + 1) {
    return WrongRow(row, fmt::format("{} columns, where {} or {} belong.", columns, kTimesColumns,
                                     kTimesColumns + 1));
  }
  AlgorithmTimes times;
  ATTUNE_ASSIGN_OR_RETURN(times.layer, LayerIn(row));
  for (int i = 0; i < kAlgorithms; ++i) {
    const size_t column = 8 + static_cast<size_t>(i);
    ATTUNE_ASSIGN_OR_RETURN(const double time_ms, NumberIn(row, column));
    // A time of 0 or less means that the algorithm did not run.
    if (time_ms > 0) ATTUNE_RETURN_IF_ERROR(TimeIn(row, column).status());
    times.times_ms[static_cast<size_t>(CudnnNumber(i, order))] = time_ms;
  }
  if (columns == kTimesColumns) return times;
  ATTUNE_ASSIGN_OR_RETURN(const int64_t pick, WholeIn(row, kTimesColumns, -1, kAlgorithms - 1));
  times.vendor_pick = pick < 0 ? -1 : CudnnNumber(static_cast<int>(pick), order);
  return times;
}

}  // namespace

KernelClass ClassOf(const KernelRecord& record) {
  if (record.fp_utilisation >= kBoundAbove) return KernelClass::kCompute;
  if (record.dram_utilisation >= kBoundAbove) return KernelClass::kDram;
  return KernelClass::kUnderUtilised;
}

Result<std::vector<KernelRecord>> ReadKernelRecords(std::string_view csv, AlgorithmOrder order) {
  ATTUNE_ASSIGN_OR_RETURN(const std::vector<CsvRow> rows, DataRows(csv));
  std::vector<KernelRecord> records;
  for (const CsvRow& row : rows) {
    ATTUNE_ASSIGN_OR_RETURN(const KernelRecord record, RecordIn(row, order));
    records.push_back(record);
  }
  return records;
}

std::string Csv(std::span<const KernelRecord> records) {
  std::string text = fmt::format("{}\n", kKernelHeader);
  for (const KernelRecord& x : records) {
    text += fmt::format("{},{},{},{},{},{},{},{},{},{},{}\n", LayerColumns(x.layer), x.algorithm,
                        x.time_ms, x.instructions, x.read_sectors, x.write_sectors,
                        x.resident_blocks, x.blocks, x.waves, x.fp_utilisation, x.dram_utilisation);
  }
  return text;
}

Result<std::vector<AlgorithmTimes>> ReadAlgorithmTimes(std::string_view csv, AlgorithmOrder order) {
  ATTUNE_ASSIGN_OR_RETURN(const std::vector<CsvRow> rows, DataRows(csv));
  std::vector<AlgorithmTimes> all;
  for (const CsvRow& row : rows) {
    ATTUNE_ASSIGN_OR_RETURN(const AlgorithmTimes times, TimesIn(row, order));
    all.push_back(times);
  }
  return all;
}

std::string Csv(std::span<const AlgorithmTimes> times) {
  std::string text = fmt::format("{}\n", kTimesHeader);
  for (const AlgorithmTimes& x : times) {
    text += LayerColumns(x.layer);
    for (const double time_ms : x.times_ms) text += fmt::format(",{}", time_ms);
    text += fmt::format(",{}\n", x.vendor_pick);
  }
  return text;
}

Result<std::vector<Layer>> ReadConfigurations(std::string_view text) {
  std::vector<Layer> layers;
  size_t expected = 0;
  bool has_count = false;
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    const CsvRow row = WordsOf(text.substr(0, end), number);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (row.fields.empty() || row.fields[0].starts_with('#')) continue;
    if (!has_count) {
      if (row.fields.size() != 1)
        return WrongRow(row, "the number of configurations belongs here.");
      ATTUNE_ASSIGN_OR_RETURN(const int64_t count, WholeIn(row, 0, 0, 1e9));
      expected = static_cast<size_t>(count);
      has_count = true;
      continue;
    }
    if (row.fields.size() < 8) return WrongRow(row, "a configuration has eight numbers.");
    Layer layer;
    std::array<int64_t*, 8> parts = {&layer.n, &layer.c, &layer.w, &layer.k,
                                     &layer.p, &layer.f, &layer.s, &layer.pad};
    for (size_t i = 0; i < parts.size(); ++i) {
      ATTUNE_ASSIGN_OR_RETURN(*parts[i], WholeIn(row, i, i == 7 || i == 4 ? 0 : 1, kMostExtent));
    }
    if (layer.w + 2 * layer.pad < layer.f)
      return WrongRow(row, "the filter is wider than the image.");
    layer.p = OutputWidth(layer);
    layers.push_back(layer);
  }
  if (layers.size() == expected) return layers;
  return InvalidArgument(
      fmt::format("{} configurations, where {} are announced.", layers.size(), expected));
}

}  // namespace attune::seer
