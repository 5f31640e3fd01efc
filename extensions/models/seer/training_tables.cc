#include "extensions/models/seer/training_tables.h"

#include <algorithm>
#include <array>
#include <utility>

#include "attune/model/seer_variant.h"

namespace attune::seer {
namespace {

constexpr std::array<int, 5> kVariantAlgorithms = {0, 1, 2, 6, 7};
constexpr int64_t kPublishedClassWidth = 32;

// As published, FFTs and Winograd were divided in the order of their grids.
RecordSplit SplitByPlace(const std::vector<KernelRecord>& records) {
  RecordSplit split;
  for (size_t i = 0; i < records.size(); ++i) {
    (i % 10 < 7 ? split.learnt : split.held_out).push_back(records[i]);
  }
  return split;
}

std::vector<KernelRecord> Learnt(const std::vector<KernelRecord>& records, Rules rules,
                                 std::vector<KernelRecord>& held_out) {
  if (records.empty()) return {};
  const bool by_place = rules == Rules::kAsPublished && records[0].algorithm >= 4;
  RecordSplit split = by_place ? SplitByPlace(records) : SplitByTime(records, rules);
  held_out.insert(held_out.end(), split.held_out.begin(), split.held_out.end());
  return std::move(split.learnt);
}

std::vector<TimedLayer> TimesOf(std::span<const KernelRecord> records) {
  std::vector<TimedLayer> times;
  for (const KernelRecord& record : records) times.push_back({record.layer, record.time_ms});
  return times;
}

void TakeVariants(int algorithm, VariantRecords split, SortedRecords& sorted) {
  sorted.ambiguous += split.ambiguous;
  sorted.unknown += split.unknown;
  const std::vector<const Variant*> of_any = VariantsOf(algorithm, 3);
  for (size_t i = 0; i < split.by_variant.size(); ++i) {
    for (KernelRecord& record : split.by_variant[i]) {
      // Variants of algorithm 7 have a name for each filter.
      const std::vector<const Variant*> of_filter = VariantsOf(algorithm, record.layer.f);
      const Variant* const variant = i < of_filter.size() ? of_filter[i] : of_any[i];
      sorted.kernels[std::string(variant->name)].push_back(std::move(record));
    }
  }
}

}  // namespace

VariantRecords SplitByVariant(std::span<const KernelRecord> records, int algorithm,
                              int64_t processors, Rules rules) {
  VariantRecords split;
  split.by_variant.resize(VariantsOf(algorithm, 3).size());
  for (const KernelRecord& record : records) {
    const std::vector<const Variant*> variants = VariantsOf(algorithm, record.layer.f);
    std::vector<size_t> fit;
    for (size_t i = 0; i < variants.size(); ++i) {
      if (BlocksOf(*variants[i], record.layer, rules) == record.blocks) fit.push_back(i);
    }
    if (fit.size() > 1 && rules == Rules::kAsPublished) {
      ++split.ambiguous;
      return split;
    }
    if (fit.size() > 1) {
      std::erase_if(fit, [&](size_t i) {
        return static_cast<double>(variants[i]->resident_per_processor * processors) !=
               record.resident_blocks;
      });
      if (fit.size() != 1) {
        ++split.ambiguous;
        continue;
      }
    }
    if (fit.empty()) {
      ++split.unknown;
      continue;
    }
    split.by_variant[fit[0]].push_back(record);
  }
  return split;
}

RecordSplit SplitByTime(std::vector<KernelRecord> records, Rules rules) {
  std::stable_sort(
      records.begin(), records.end(),
      [](const KernelRecord& a, const KernelRecord& b) { return a.time_ms < b.time_ms; });
  if (rules == Rules::kAsPublished && !records.empty()) records.erase(records.begin());
  RecordSplit split;
  for (size_t i = 0; i < records.size(); ++i) {
    (i % 10 < 7 ? split.learnt : split.held_out).push_back(records[i]);
  }
  return split;
}

SortedRecords SortRecords(std::span<const KernelRecord> records, int64_t multiprocessors,
                          Rules rules) {
  std::array<std::vector<KernelRecord>, kAlgorithms> by_algorithm;
  for (const KernelRecord& record : records) {
    by_algorithm[static_cast<size_t>(record.algorithm)].push_back(record);
  }
  SortedRecords sorted;
  for (const int algorithm : kVariantAlgorithms) {
    const std::vector<KernelRecord>& own = by_algorithm[static_cast<size_t>(algorithm)];
    TakeVariants(algorithm, SplitByVariant(own, algorithm, multiprocessors, rules), sorted);
  }
  sorted.unknown += by_algorithm[3].size();
  sorted.fft = std::move(by_algorithm[4]);
  sorted.fft_tiling = std::move(by_algorithm[5]);
  return sorted;
}

SortedSplit HoldOut(const SortedRecords& sorted, Rules rules) {
  SortedSplit split;
  for (const auto& [name, records] : sorted.kernels) {
    split.learnt.kernels[name] = Learnt(records, rules, split.held_out);
  }
  split.learnt.fft = Learnt(sorted.fft, rules, split.held_out);
  split.learnt.fft_tiling = Learnt(sorted.fft_tiling, rules, split.held_out);
  split.learnt.ambiguous = sorted.ambiguous;
  split.learnt.unknown = sorted.unknown;
  return split;
}

TrainingData TrainingDataOf(const SortedRecords& sorted, std::span<const OperatorTime> operators,
                            Rules rules) {
  TrainingData data;
  data.kernels = sorted.kernels;
  data.fft = TimesOf(sorted.fft);
  data.fft_tiling = TimesOf(sorted.fft_tiling);
  for (const KernelRecord& record : sorted.fft_tiling) {
    const bool is_asked = rules == Rules::kFixed || record.layer.w == kPublishedClassWidth;
    if (is_asked) data.fft_classes.push_back(record);
  }
  for (const OperatorTime& time : operators) {
    if (!IsPreKernel(time.name)) continue;
    const TimedLayer timed = {time.layer, time.time_ms};
    (FindVariant(time.name) == nullptr ? data.im2col : data.transforms[time.name]).push_back(timed);
  }
  return data;
}

}  // namespace attune::seer
