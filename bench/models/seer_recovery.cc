#include "bench/models/seer_recovery.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "attune/base/random.h"
#include "extensions/models/seer/synthetic.h"

namespace attune::bench {
namespace {

// Step between the grid's layers, so that all its values remain.
constexpr size_t kEveryLayer = 11;
constexpr uint64_t kSeed = 1;

struct Recovery {
  double largest_error = 0;
  size_t wrong_classes = 0;
  size_t layers = 0;

  void AddCoefficients(std::span<const double> found, std::span<const double> known) {
    for (size_t i = 0; i < known.size(); ++i) {
      largest_error = std::max(largest_error, std::abs(found[i] / known[i] - 1));
    }
  }
};

void AddRecovered(const seer::VariantModel& model, const seer::KnownKernel& known,
                  Recovery& recovery) {
  using seer::KernelClass;
  recovery.AddCoefficients(model.instruction_line(),
                           std::vector{known.instructions_slope, known.instructions_offset});
  recovery.AddCoefficients(model.time_coefficients(KernelClass::kCompute), known.compute);
  recovery.AddCoefficients(model.time_coefficients(KernelClass::kDram), known.dram);
  recovery.AddCoefficients(model.time_coefficients(KernelClass::kUnderUtilised),
                           known.under_utilised);
  const seer::Variant& variant = model.variant();
  for (const seer::Layer& layer : seer::TrainingGrid(variant.algorithm)) {
    if (variant.filter != 0 && layer.f != variant.filter) continue;
    ++recovery.layers;
    recovery.wrong_classes += model.Predict(layer).kernel_class == known.ClassAt(layer) ? 0 : 1;
  }
}

void ShuffleLayers(std::vector<seer::KernelRecord>& records) {
  std::vector<seer::Layer> layers;
  for (const seer::KernelRecord& record : records) layers.push_back(record.layer);
  Random random(kSeed);
  random.Shuffle(std::span(layers));
  for (size_t i = 0; i < records.size(); ++i) records[i].layer = layers[i];
}

Recovery RecoverAll(bool is_shuffled) {
  const seer::KnownKernel known;
  Recovery recovery;
  for (const seer::Rules rules : {seer::Rules::kFixed, seer::Rules::kAsPublished}) {
    for (const seer::Variant& variant : seer::Variants()) {
      const std::vector<seer::Layer> all = seer::TrainingGrid(variant.algorithm);
      std::vector<seer::Layer> layers;
      for (size_t i = 0; i < all.size(); i += kEveryLayer) layers.push_back(all[i]);
      std::vector<seer::KernelRecord> records = seer::MakeRecords(variant, known, layers, 0, kSeed);
      if (is_shuffled) ShuffleLayers(records);
      const auto model = seer::VariantModel::Train(variant, records, kSeed, rules);
      Require(model.status());
      AddRecovered(*model, known, recovery);
    }
  }
  return recovery;
}

void Add(const std::string& name, bool is_shuffled, std::vector<Figure>& figures) {
  const Recovery recovery = RecoverAll(is_shuffled);
  figures.push_back(
      {name + "error_billionths", 1e9 * recovery.largest_error, is_shuffled ? "" : "<= 1"});
  figures.push_back(
      {name + "wrong_class_pct",
       100 * static_cast<double>(recovery.wrong_classes) / static_cast<double>(recovery.layers),
       is_shuffled ? "" : "<= 0"});
}

}  // namespace

void AddSeerRecoveryFigures(std::vector<Figure>& figures) {
  Add("seer_synthetic_", false, figures);
  Add("seer_synthetic_shuffled_", true, figures);
}

}  // namespace attune::bench
