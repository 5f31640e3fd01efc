// SEER for one device: the time of every algorithm for a layer, and the best pick.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "extensions/models/seer/linear_models.h"
#include "extensions/models/seer/variant_model.h"

namespace attune::seer {

// Measurements on a device.
struct TrainingData {
  // By the name of the variant.
  std::map<std::string, std::vector<KernelRecord>, std::less<>> kernels;
  std::vector<TimedLayer> fft;            // Algorithm 4, whole calls.
  std::vector<TimedLayer> fft_tiling;     // Algorithm 5, whole calls.
  std::vector<KernelRecord> fft_classes;  // Algorithm 5, for its class alone.
  // Algorithm 2; empty on devices without such a kernel.
  std::vector<TimedLayer> im2col;
  // By the name of algorithm 7's variant.
  std::map<std::string, std::vector<TimedLayer>, std::less<>> transforms;
};

// One algorithm's prediction. An unsupported layer has no time, with any training.
struct AlgorithmPrediction {
  bool is_supported = false;
  double time_ms = 0;
  std::string_view variant;                 // From Variants(); empty for the FFTs.
  std::optional<KernelClass> kernel_class;  // None for algorithm 4.
};

class SeerModel {
 public:
  // Algorithms without data are never supported. kFailedPrecondition for an unknown variant.
  static Result<SeerModel> Train(const TrainingData& data, uint64_t seed, Rules rules);

  // As published, an unsupported algorithm has the penalty for a time.
  AlgorithmPrediction Predict(const Layer& layer, int algorithm) const;
  std::array<AlgorithmPrediction, kAlgorithms> PredictAll(const Layer& layer) const;
  // The algorithm with the minimum time, -1 if none is supported.
  int Pick(const Layer& layer) const;

  // Null if it was not trained.
  const VariantModel* FindModel(std::string_view variant) const;
  Rules rules() const { return rules_; }
  std::vector<std::string> warnings() const;
  // The names of the trained variants, in their order.
  std::vector<std::string> trained_variants() const;

  // Appends lines of a file of models (extensions/models/seer/seer_file.h), which do not contain
  // the rules.
  void AppendText(std::string& text) const;
  static Result<SeerModel> ReadFrom(ModelLines& lines, Rules rules);

 private:
  void GrowVariantTree(int algorithm, const TrainingData& data, uint64_t seed);
  const VariantModel* ChooseVariant(const Layer& layer, int algorithm) const;
  double PreKernelMs(const Layer& layer, const Variant& variant) const;
  AlgorithmPrediction PredictVariant(const Layer& layer, int algorithm) const;
  AlgorithmPrediction PredictFft(const Layer& layer, int algorithm) const;

  Rules rules_ = Rules::kFixed;
  std::map<std::string, VariantModel, std::less<>> variants_;
  std::map<int, Cart> variant_trees_;  // By algorithm.
  std::optional<FftModel> fft_;
  std::optional<FftTilingModel> fft_tiling_;
  std::optional<Cart> fft_class_;
  std::optional<Polynomial> im2col_;
  std::map<std::string, Polynomial, std::less<>> transforms_;
};

}  // namespace attune::seer
