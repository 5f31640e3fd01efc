#include "extensions/models/seer/profiler_metric.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <string>
#include <utility>

#include "attune/base/text.h"

namespace attune::seer {
namespace {

constexpr double kSectorBytes = 32;

constexpr Metric kMetrics[] = {
    {"Duration", kTime, Measure::kMilliseconds},
    {"gpu__time_duration.sum", kTime, Measure::kMilliseconds},
    {"gpu__time_duration.avg", kTime, Measure::kMilliseconds},
    {"inst_fp_32", kFp32, Measure::kCount},
    {"FP Instructions(Single)", kFp32, Measure::kCount},
    {"smsp__sass_thread_inst_executed_op_fp32_pred_on.sum", kFp32, Measure::kCount},
    {"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", kFfma, Measure::kCount},
    {"smsp__sass_thread_inst_executed_op_fadd_pred_on.sum", kFadd, Measure::kCount},
    {"smsp__sass_thread_inst_executed_op_fmul_pred_on.sum", kFmul, Measure::kCount},
    {"dram_read_transactions", kReads, Measure::kCount},
    {"Device Memory Read Transactions", kReads, Measure::kCount},
    {"dram__sectors_read.sum", kReads, Measure::kCount},
    {"dram__bytes_read.sum", kReads, Measure::kSectorsOfBytes},
    {"dram_write_transactions", kWrites, Measure::kCount},
    {"Device Memory Write Transactions", kWrites, Measure::kCount},
    {"dram__sectors_write.sum", kWrites, Measure::kCount},
    {"dram__bytes_write.sum", kWrites, Measure::kSectorsOfBytes},
    {"single_precision_fu_utilization", kFp, Measure::kTenths},
    {"Single-Precision Function Unit Utilization", kFp, Measure::kTenths},
    {"sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_elapsed", kFp, Measure::kTenths},
    {"sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active", kFp, Measure::kTenths},
    {"dram_utilization", kDram, Measure::kTenths},
    {"Device Memory Utilization", kDram, Measure::kTenths},
    {"dram__throughput.avg.pct_of_peak_sustained_elapsed", kDram, Measure::kTenths},
    {"DRAM Throughput", kDram, Measure::kTenths},
    {"Registers Per Thread", kRegisters, Measure::kCount},
    {"launch__registers_per_thread", kRegisters, Measure::kCount},
    {"Static SMem", kStaticShared, Measure::kBytes},
    {"Static Shared Memory Per Block", kStaticShared, Measure::kBytes},
    {"launch__shared_mem_per_block_static", kStaticShared, Measure::kBytes},
    {"Dynamic SMem", kDynamicShared, Measure::kBytes},
    {"Dynamic Shared Memory Per Block", kDynamicShared, Measure::kBytes},
    {"launch__shared_mem_per_block_dynamic", kDynamicShared, Measure::kBytes},
    {"launch__grid_size", kGrid, Measure::kCount},
    {"launch__block_size", kBlock, Measure::kCount},
};

bool IsDigits(std::string_view text, size_t least, size_t most) {
  return text.size() >= least && text.size() <= most &&
         text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

const Metric* FindMetric(std::string_view name) {
  const auto* const found = std::ranges::find(kMetrics, name, &Metric::name);
  return found == std::end(kMetrics) ? nullptr : found;
}

std::optional<double> FactorOf(std::string_view unit, Measure measure) {
  unit = unit.substr(0, unit.find('/'));
  constexpr std::pair<std::string_view, double> kTimes[] = {
      {"s", 1e3},   {"second", 1e3},   {"sec", 1e3}, {"ms", 1},        {"msecond", 1},
      {"us", 1e-3}, {"usecond", 1e-3}, {"ns", 1e-6}, {"nsecond", 1e-6}};
  constexpr std::pair<std::string_view, double> kBytes[] = {
      {"", 1},     {"B", 1},       {"KB", 1024},   {"MB", 1048576}, {"GB", 1073741824},
      {"byte", 1}, {"Kbyte", 1e3}, {"Mbyte", 1e6}, {"Gbyte", 1e9},  {"Tbyte", 1e12}};
  const auto find = [unit](const auto& units) -> std::optional<double> {
    const auto* const found =
        std::ranges::find(units, unit, [](const auto& each) { return each.first; });
    return found == std::end(units) ? std::nullopt : std::optional(found->second);
  };
  if (measure == Measure::kMilliseconds) return find(kTimes);
  if (measure == Measure::kBytes) return find(kBytes);
  if (measure == Measure::kSectorsOfBytes) {
    const auto bytes = find(kBytes);
    return bytes.has_value() ? std::optional(*bytes / kSectorBytes) : std::nullopt;
  }
  if (measure == Measure::kTenths)
    return unit.empty() || unit == "%" ? std::optional(1.0) : std::nullopt;
  constexpr std::pair<char, double> kPrefixes[] = {{'K', 1e3}, {'M', 1e6}, {'G', 1e9}, {'T', 1e12}};
  for (const auto& [prefix, factor] : kPrefixes) {
    if (unit.size() > 1 && unit.front() == prefix) return factor;
  }
  return 1.0;
}

std::optional<double> NumberOf(std::string_view text) {
  text = Trimmed(text);
  std::string digits;
  std::string_view rest = text;
  while (rest.find(',') != std::string_view::npos) {
    const std::string_view group = rest.substr(0, rest.find(','));
    if (!IsDigits(group, digits.empty() ? 1 : 3, 3)) return std::nullopt;
    digits += group;
    rest.remove_prefix(group.size() + 1);
  }
  if (!digits.empty() && !IsDigits(rest.substr(0, rest.find_first_of(".eE")), 3, 3)) {
    return std::nullopt;
  }
  digits += rest;
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const bool is_number = error == std::errc() && end == digits.data() + digits.size();
  return is_number && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

bool IsUnknown(std::string_view text) {
  text = Trimmed(text);
  for (const std::string_view word : {"", "n/a", "N/A", "nan", "-", "<OVERFLOW>", "<INACTIVE>"}) {
    if (text == word) return true;
  }
  return false;
}

std::optional<double> TenthsOf(std::string_view text) {
  text = Trimmed(text);
  const size_t open = text.find('(');
  if (open != std::string_view::npos && text.ends_with(')')) {
    const auto level = NumberOf(text.substr(open + 1, text.size() - open - 2));
    return level.has_value() && *level >= 0 && *level <= 10 ? level : std::nullopt;
  }
  const auto percent = NumberOf(text);
  if (!percent.has_value() || *percent < 0) return std::nullopt;
  return std::clamp(std::round(*percent / 10), 0.0, 10.0);
}

}  // namespace attune::seer
