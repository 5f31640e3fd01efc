#include "extensions/models/seer/variant_model.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "attune/model/least_squares.h"

namespace attune::seer {
namespace {

double Number(int64_t x) { return static_cast<double>(x); }

double MostFrequentResident(std::span<const KernelRecord> records) {
  std::map<double, size_t> counts;
  for (const KernelRecord& record : records) ++counts[record.resident_blocks];
  return std::max_element(counts.begin(), counts.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

}  // namespace

std::vector<double> VariantModel::ClassFeatures(const Layer& x, double blocks) const {
  return {Number(x.c), Number(x.w), Number(x.k), Number(x.p), Number(x.f), Number(x.s), blocks};
}

std::vector<double> VariantModel::DramFeatures(const Layer& x, double blocks) const {
  std::vector<double> features = {Number(x.c), Number(x.w), Number(x.k),
                                  Number(x.p), Number(x.f), Number(x.s)};
  if (variant_->kind == TileKind::kWinograd) return features;
  const double reduction = Number(x.f * x.f * x.c);
  features.insert(features.end(),
                  {blocks, reduction, reduction * Number(x.k), reduction * Number(x.p * x.p)});
  return features;
}

double VariantModel::ReadScale(const Layer& x) const {
  return variant_->kind == TileKind::kGemm ? Number(x.f * x.f * x.c) : Number(x.c);
}

double VariantModel::StaticTerm(const Layer& x) const {
  return variant_->kind == TileKind::kGemm ? Number(x.f * x.f * x.c) : std::ceil(Number(x.c) / 8);
}

void VariantModel::GrowTrees(std::span<const KernelRecord> records, uint64_t seed) {
  CartData classes, reads, writes;
  for (const KernelRecord& record : records) {
    const Layer x = variant_->name == "algo1_128x32" ? PaddedLayer(*variant_, record.layer, rules_)
                                                     : record.layer;
    // Prediction uses the blocks of the formula, so trees learn from those; as published, they
    // learn from the launched blocks.
    const double blocks =
        rules_ == Rules::kAsPublished ? record.blocks : BlocksOf(*variant_, record.layer, rules_);
    classes.rows.push_back(ClassFeatures(x, blocks));
    classes.targets.push_back(static_cast<double>(ClassOf(record)));
    reads.rows.push_back(DramFeatures(x, blocks));
    reads.targets.push_back(record.read_sectors / record.blocks / ReadScale(x));
    writes.rows.push_back(reads.rows.back());
    writes.targets.push_back(record.write_sectors / record.blocks);
  }
  class_tree_ = Cart::GrowCrossValidated(CartKind::kClassification, classes, seed);
  read_tree_ = Cart::GrowCrossValidated(CartKind::kRegression, reads, seed + 1);
  write_tree_ = Cart::GrowCrossValidated(CartKind::kRegression, writes, seed + 2);
}

void VariantModel::FitTimes(std::span<const KernelRecord> records) {
  for (int c = 0; c < kClasses; ++c) {
    const auto kernel_class = static_cast<KernelClass>(c);
    std::vector<std::vector<double>> rows;
    std::vector<double> times;
    for (const KernelRecord& record : records) {
      if (ClassOf(record) != kernel_class) continue;
      rows.push_back(TimeTerms(kernel_class, CountsOf(record)));
      times.push_back(record.time_ms);
    }
    if (rows.empty()) {
      coefficients_[static_cast<size_t>(c)].assign(TimeTerms(kernel_class, {}).size(), 1);
      warnings_.push_back(
          fmt::format("{}: no record of class {}, whose coefficients are 1.", variant_->name, c));
      continue;
    }
    coefficients_[static_cast<size_t>(c)] = FitTerms(rows, times, rules_);
  }
}

Result<VariantModel> VariantModel::Train(const Variant& variant,
                                         std::span<const KernelRecord> records, uint64_t seed,
                                         Rules rules) {
  if (records.empty()) {
    return FailedPrecondition(fmt::format("There are no records to train {} with.", variant.name));
  }
  VariantModel model;
  model.variant_ = &variant;
  model.rules_ = rules;
  model.GrowTrees(records, seed);
  std::vector<std::vector<double>> lines;
  std::vector<double> instructions;
  model.least_ms_ = records[0].time_ms;
  for (const KernelRecord& record : records) {
    model.least_ms_ = std::min(model.least_ms_, record.time_ms);
    if (record.instructions <= 0) continue;  // Zero has no relative error.
    lines.push_back({model.StaticTerm(record.layer), 1});
    instructions.push_back(record.instructions / record.blocks);
  }
  model.instruction_line_ = {0, 0};
  if (!lines.empty()) model.instruction_line_ = FitTerms(lines, instructions, rules);
  model.FitTimes(records);
  model.resident_ = rules == Rules::kAsPublished
                        ? Number(variant.resident_per_processor * kTitanXpProcessors)
                        : MostFrequentResident(records);
  return model;
}

KernelTime VariantModel::Predict(const Layer& layer) const {
  return Predict(layer, BlocksOf(*variant_, layer, rules_), resident_);
}

KernelTime VariantModel::Predict(const Layer& layer, double blocks, double resident) const {
  const Layer x = PaddedLayer(*variant_, layer, rules_);
  const double asked = rules_ == Rules::kAsPublished ? blocks : BlocksOf(*variant_, layer, rules_);
  KernelTime time;
  time.kernel_class =
      static_cast<KernelClass>(std::lround(class_tree_.Predict(ClassFeatures(x, asked))));
  const std::vector<double> dram = DramFeatures(x, asked);
  time.counts.blocks = blocks;
  time.counts.resident = resident;
  time.counts.waves = std::ceil(blocks / resident);
  time.counts.instructions = instruction_line_[0] * StaticTerm(x) + instruction_line_[1];
  time.counts.read_sectors = read_tree_.Predict(dram) * ReadScale(x);
  time.counts.write_sectors = write_tree_.Predict(dram);
  time.time_ms =
      Dot(time_coefficients(time.kernel_class), TimeTerms(time.kernel_class, time.counts));
  // As published, a time may be below 0 and then wins.
  if (rules_ == Rules::kFixed) time.time_ms = std::max(time.time_ms, least_ms_ / 2);
  return time;
}

void VariantModel::AppendText(std::string& text) const {
  class_tree_.AppendText(text);
  read_tree_.AppendText(text);
  write_tree_.AppendText(text);
  AppendNumbers(text, "instructions", instruction_line_);
  for (const std::vector<double>& coefficients : coefficients_) {
    AppendNumbers(text, "time", coefficients);
  }
  AppendNumbers(text, "resident_least", std::array{resident_, least_ms_});
}

Result<VariantModel> VariantModel::ReadFrom(ModelLines& lines, const Variant& variant,
                                            Rules rules) {
  VariantModel model;
  model.variant_ = &variant;
  model.rules_ = rules;
  const size_t class_features = model.ClassFeatures(Layer{}, 1).size();
  const size_t dram_features = model.DramFeatures(Layer{}, 1).size();
  ATTUNE_ASSIGN_OR_RETURN(model.class_tree_, Cart::ReadFrom(lines, class_features, kClasses));
  ATTUNE_ASSIGN_OR_RETURN(model.read_tree_, Cart::ReadFrom(lines, dram_features, 0));
  ATTUNE_ASSIGN_OR_RETURN(model.write_tree_, Cart::ReadFrom(lines, dram_features, 0));
  ATTUNE_ASSIGN_OR_RETURN(model.instruction_line_, lines.Numbers("instructions", 2));
  for (int c = 0; c < kClasses; ++c) {
    const size_t terms = TimeTerms(static_cast<KernelClass>(c), {}).size();
    ATTUNE_ASSIGN_OR_RETURN(model.coefficients_[static_cast<size_t>(c)],
                            lines.Numbers("time", terms));
  }
  ATTUNE_ASSIGN_OR_RETURN(const std::vector<double> numbers, lines.Numbers("resident_least", 2));
  if (!(numbers[0] > 0) || !(numbers[1] > 0)) {
    return lines.Wrong("resident blocks and the least time are above 0.");
  }
  model.resident_ = numbers[0];
  model.least_ms_ = numbers[1];
  return model;
}

}  // namespace attune::seer
