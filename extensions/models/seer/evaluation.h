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

// Test set I: kernels whose variant and blocks are known. Their classes, instructions and traffic
// are predicted; kernels before the main one do not count. Keys: "algo0_32x32", "algo0", "class 2",
// "total".
std::map<std::string, Errors> EvaluateKernels(
    const SeerModel& model,
    const std::map<std::string, std::vector<KernelRecord>, std::less<>>& held_out);

// The same with whole calls of the FFTs, "algo4" and "algo5", where those were trained.
std::map<std::string, Errors> EvaluateRecords(const SeerModel& model, const SortedRecords& sorted);

// By operator, of those that were trained; pre-kernels are passed over.
std::map<std::string, Errors> EvaluateOperators(const OperatorModels& models,
                                                std::span<const OperatorTime> measured);

// Test set II: the least of the predicted times against the least of the measured ones. Layers of
// which either has none are left out.
Errors EvaluateLayers(const SeerModel& model, std::span<const AlgorithmTimes> measured);

// A pick is wrong if it takes more than a tenth longer than the best, or is not supported; as
// published, one that is not supported has a time below 0 and so counts as right.
inline constexpr double kWrongAbove = 0.10;
bool IsWrongPick(const AlgorithmTimes& measured, int pick, Rules rules);

struct PickErrors {
  size_t layers = 0;
  size_t wrong = 0;
  size_t vendor_layers = 0;  // Of which the vendor's pick is known.
  size_t vendor_wrong = 0;
};
PickErrors EvaluatePicks(const SeerModel& model, std::span<const AlgorithmTimes> measured);

// How many layers of a network have a pick of each class. Algorithm 4 has none, and such layers,
// and those without a pick, are in no count.
std::array<size_t, kClasses> ClassesOfNetwork(const SeerModel& model,
                                              std::span<const Layer> layers);

}  // namespace attune::seer
