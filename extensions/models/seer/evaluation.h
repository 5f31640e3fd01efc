// SEER's two test sets, its count of wrong picks, and its analysis of networks.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "extensions/models/seer/operator_models.h"
#include "extensions/models/seer/seer_model.h"
#include "extensions/models/seer/training_tables.h"

namespace attune::seer {

// sqrt(mean(((T - t) / t)^2)) and sqrt(mean((T - t)^2)) in ms.
struct Errors {
  size_t count = 0;
  double relative_squares = 0;
  double squares = 0;

  void Add(double predicted_ms, double measured_ms);
  double RmspePercent() const;
  double RmseMs() const;
};

// Test set I: kernels with known variant and blocks. Their classes, instructions and traffic are
// predicted; kernels before the main one do not count. Keys: "algo0_32x32", "algo0", "class 2",
// "total".
std::map<std::string, Errors> EvaluateKernels(
    const SeerModel& model,
    const std::map<std::string, std::vector<KernelRecord>, std::less<>>& held_out);

// The same with whole calls of the FFTs, "algo4" and "algo5", if those were trained.
std::map<std::string, Errors> EvaluateRecords(const SeerModel& model, const SortedRecords& sorted);

// By operator, for trained ones; skips pre-kernels.
std::map<std::string, Errors> EvaluateOperators(const OperatorModels& models,
                                                std::span<const OperatorTime> measured);

// Test set II: the minimum of the predicted times against that of the measured ones. Omits layers
// for which either has none.
Errors EvaluateLayers(const SeerModel& model, std::span<const AlgorithmTimes> measured);

// A pick is wrong if it takes more than a tenth longer than the best, or is not supported; as
// published, an unsupported one has a time below 0 and so counts as right.
inline constexpr double kWrongAbove = 0.10;
bool IsWrongPick(const AlgorithmTimes& measured, int pick, Rules rules);

struct PickErrors {
  size_t layers = 0;
  size_t wrong = 0;
  size_t vendor_layers = 0;  // Layers with a known vendor's pick.
  size_t vendor_wrong = 0;
};
PickErrors EvaluatePicks(const SeerModel& model, std::span<const AlgorithmTimes> measured);

// The number of layers of a network with a pick of each class. Layers with algorithm 4, which has
// no class, or without a pick are not counted.
std::array<size_t, kClasses> ClassesOfNetwork(const SeerModel& model,
                                              std::span<const Layer> layers);

}  // namespace attune::seer
