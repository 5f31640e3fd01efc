#include "extensions/models/seer/seer_model.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace attune::seer {
namespace {

double Number(int64_t x) { return static_cast<double>(x); }

std::vector<double> VariantFeatures(const Layer& x) {
  return {Number(x.c), Number(x.w), Number(x.k), Number(x.p), Number(x.f), Number(x.s)};
}

std::vector<double> FftClassFeatures(const Layer& x) {
  return {Number(x.c), Number(x.k), Number(x.p), Number(x.f)};
}

// True if the kernels of an algorithm can compute this layer.
bool Supports(const Layer& x, int algorithm) {
  if (algorithm == 6) return x.f == 3 && x.s == 1;
  if (algorithm == 7) return (x.f == 3 || x.f == 5) && x.s == 1;
  return true;
}

// The published program's time for "not supported".
double PublishedPenaltyMs(int algorithm) {
  if (algorithm == 3) return 100000;
  return algorithm == 4 || algorithm == 5 ? 10000 : 200000;
}

}  // namespace

void SeerModel::GrowVariantTree(int algorithm, const TrainingData& data, uint64_t seed) {
  CartData choices;
  for (const Variant& variant : Variants()) {
    const auto records = data.kernels.find(variant.name);
    if (variant.algorithm != algorithm || records == data.kernels.end()) continue;
    const std::vector<const Variant*> labels =
        VariantsOf(algorithm, variant.filter == 0 ? 1 : variant.filter);
    const auto label = std::find(labels.begin(), labels.end(), &variant) - labels.begin();
    for (const KernelRecord& record : records->second) {
      choices.rows.push_back(VariantFeatures(record.layer));
      choices.targets.push_back(static_cast<double>(label));
    }
  }
  if (choices.targets.empty()) return;
  variant_trees_[algorithm] = Cart::GrowCrossValidated(CartKind::kClassification, choices, seed);
}

Result<SeerModel> SeerModel::Train(const TrainingData& data, uint64_t seed, Rules rules) {
  SeerModel model;
  model.rules_ = rules;
  for (const auto& [name, records] : data.kernels) {
    const Variant* const variant = FindVariant(name);
    if (variant == nullptr) {
      return FailedPrecondition(fmt::format("No kernel variant is called '{}'.", name));
    }
    if (records.empty()) continue;
    ATTUNE_ASSIGN_OR_RETURN(VariantModel trained,
                            VariantModel::Train(*variant, records, seed, rules));
    model.variants_.emplace(name, std::move(trained));
  }
  for (const int algorithm : {0, 2, 6, 7}) model.GrowVariantTree(algorithm, data, seed);
  if (!data.fft.empty()) {
    ATTUNE_ASSIGN_OR_RETURN(model.fft_, FftModel::Train(data.fft, rules));
  }
  if (!data.fft_tiling.empty()) {
    ATTUNE_ASSIGN_OR_RETURN(model.fft_tiling_, FftTilingModel::Train(data.fft_tiling, rules));
  }
  if (!data.fft_classes.empty()) {
    CartData classes;
    for (const KernelRecord& record : data.fft_classes) {
      classes.rows.push_back(FftClassFeatures(record.layer));
      classes.targets.push_back(static_cast<double>(ClassOf(record)));
    }
    model.fft_class_ = Cart::GrowCrossValidated(CartKind::kClassification, classes, seed);
  }
  if (!data.im2col.empty()) {
    ATTUNE_ASSIGN_OR_RETURN(model.im2col_, FitPolynomial(&Im2colTerms, data.im2col, rules));
  }
  for (const auto& [name, samples] : data.transforms) {
    ATTUNE_ASSIGN_OR_RETURN(model.transforms_[name],
                            FitPolynomial(&WinogradTransformTerms, samples, rules));
  }
  return model;
}

const VariantModel* SeerModel::FindModel(std::string_view variant) const {
  const auto found = variants_.find(variant);
  return found == variants_.end() ? nullptr : &found->second;
}

const VariantModel* SeerModel::ChooseVariant(const Layer& layer, int algorithm) const {
  if (algorithm == 1) return FindModel(PrecompVariant(layer.k).name);
  const auto tree = variant_trees_.find(algorithm);
  if (tree == variant_trees_.end()) return nullptr;
  const auto label = static_cast<size_t>(std::lround(tree->second.Predict(VariantFeatures(layer))));
  const std::vector<const Variant*> variants = VariantsOf(algorithm, layer.f);
  return label < variants.size() ? FindModel(variants[label]->name) : nullptr;
}

double SeerModel::PreKernelMs(const Layer& layer, const Variant& variant) const {
  if (variant.algorithm == 2 && im2col_.has_value()) return im2col_->Predict(layer);
  const auto transform = transforms_.find(variant.name);
  return transform == transforms_.end() ? 0 : transform->second.Predict(layer);
}

AlgorithmPrediction SeerModel::PredictVariant(const Layer& layer, int algorithm) const {
  if (!Supports(layer, algorithm)) return {};
  const VariantModel* const model = ChooseVariant(layer, algorithm);
  if (model == nullptr) return {};
  const KernelTime time = model->Predict(layer);
  return {true, time.time_ms + PreKernelMs(layer, model->variant()), model->variant().name,
          time.kernel_class};
}

AlgorithmPrediction SeerModel::PredictFft(const Layer& layer, int algorithm) const {
  AlgorithmPrediction prediction;
  if (algorithm == 4) {
    const std::optional<double> time_ms = fft_ ? fft_->Predict(layer) : std::nullopt;
    prediction.is_supported = time_ms.has_value();
    prediction.time_ms = time_ms.value_or(0);
    return prediction;
  }
  if (!fft_tiling_ || !FftTilingModel::Supports(layer)) return prediction;
  prediction.is_supported = true;
  prediction.time_ms = fft_tiling_->Predict(layer);
  if (fft_class_) {
    prediction.kernel_class =
        static_cast<KernelClass>(std::lround(fft_class_->Predict(FftClassFeatures(layer))));
  }
  return prediction;
}

AlgorithmPrediction SeerModel::Predict(const Layer& layer, int algorithm) const {
  AlgorithmPrediction prediction;
  if (algorithm == 4 || algorithm == 5) {
    prediction = PredictFft(layer, algorithm);
  } else if (algorithm != 3) {
    prediction = PredictVariant(layer, algorithm);
  }
  if (!prediction.is_supported && rules_ == Rules::kAsPublished) {
    prediction.time_ms = PublishedPenaltyMs(algorithm);
  }
  return prediction;
}

std::array<AlgorithmPrediction, kAlgorithms> SeerModel::PredictAll(const Layer& layer) const {
  std::array<AlgorithmPrediction, kAlgorithms> all;
  for (int i = 0; i < kAlgorithms; ++i) all[static_cast<size_t>(i)] = Predict(layer, i);
  return all;
}

int SeerModel::Pick(const Layer& layer) const {
  const auto all = PredictAll(layer);
  int best = -1;
  for (int i = 0; i < kAlgorithms; ++i) {
    const AlgorithmPrediction& x = all[static_cast<size_t>(i)];
    if (!x.is_supported && rules_ == Rules::kFixed) continue;
    if (best < 0 || x.time_ms < all[static_cast<size_t>(best)].time_ms) best = i;
  }
  return best;
}

std::vector<std::string> SeerModel::warnings() const {
  std::vector<std::string> all;
  for (const auto& [name, model] : variants_) {
    all.insert(all.end(), model.warnings().begin(), model.warnings().end());
  }
  return all;
}

std::vector<std::string> SeerModel::trained_variants() const {
  std::vector<std::string> names;
  for (const Variant& variant : Variants()) {
    if (variants_.contains(variant.name)) names.emplace_back(variant.name);
  }
  return names;
}

}  // namespace attune::seer
