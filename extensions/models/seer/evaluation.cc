#include "extensions/models/seer/evaluation.h"

#include <cmath>

#include <fmt/format.h>

namespace attune::seer {
namespace {

// The minimum of the measured times; nothing if no algorithm is supported.
std::optional<double> BestOf(const AlgorithmTimes& measured) {
  std::optional<double> best;
  for (const double time_ms : measured.times_ms) {
    if (time_ms > 0 && (!best || time_ms < *best)) best = time_ms;
  }
  return best;
}

}  // namespace

void Errors::Add(double predicted_ms, double measured_ms) {
  const double difference = predicted_ms - measured_ms;
  ++count;
  squares += difference * difference;
  relative_squares += difference / measured_ms * (difference / measured_ms);
}

double Errors::RmspePercent() const {
  return 100 * std::sqrt(relative_squares / static_cast<double>(count));
}

double Errors::RmseMs() const { return std::sqrt(squares / static_cast<double>(count)); }

std::map<std::string, Errors> EvaluateKernels(
    const SeerModel& model,
    const std::map<std::string, std::vector<KernelRecord>, std::less<>>& held_out) {
  std::map<std::string, Errors> errors;
  for (const auto& [name, records] : held_out) {
    const VariantModel* const trained = model.FindModel(name);
    if (trained == nullptr) continue;
    for (const KernelRecord& record : records) {
      const double predicted =
          trained->Predict(record.layer, record.blocks, record.resident_blocks).time_ms;
      for (const std::string& key :
           {name, fmt::format("algo{}", trained->variant().algorithm),
            fmt::format("class {}", static_cast<int>(ClassOf(record))), std::string("total")}) {
        errors[key].Add(predicted, record.time_ms);
      }
    }
  }
  return errors;
}

std::map<std::string, Errors> EvaluateRecords(const SeerModel& model, const SortedRecords& sorted) {
  std::map<std::string, Errors> errors = EvaluateKernels(model, sorted.kernels);
  for (const std::vector<KernelRecord>* records : {&sorted.fft, &sorted.fft_tiling}) {
    for (const KernelRecord& record : *records) {
      const AlgorithmPrediction predicted = model.Predict(record.layer, record.algorithm);
      if (!predicted.is_supported) continue;
      for (const std::string& key :
           {fmt::format("algo{}", record.algorithm), std::string("total")}) {
        errors[key].Add(predicted.time_ms, record.time_ms);
      }
    }
  }
  return errors;
}

std::map<std::string, Errors> EvaluateOperators(const OperatorModels& models,
                                                std::span<const OperatorTime> measured) {
  std::map<std::string, Errors> errors;
  for (const OperatorTime& time : measured) {
    const auto predicted = models.Predict(time.name, time.layer, time.forward_ms);
    if (predicted) errors[time.name].Add(*predicted, time.time_ms);
  }
  return errors;
}

Errors EvaluateLayers(const SeerModel& model, std::span<const AlgorithmTimes> measured) {
  Errors errors;
  for (const AlgorithmTimes& times : measured) {
    const std::optional<double> best = BestOf(times);
    const int pick = model.Pick(times.layer);
    if (!best || pick < 0) continue;
    errors.Add(model.Predict(times.layer, pick).time_ms, *best);
  }
  return errors;
}

bool IsWrongPick(const AlgorithmTimes& measured, int pick, Rules rules) {
  const std::optional<double> best = BestOf(measured);
  if (!best) return false;
  if (!measured.IsSupported(pick)) return rules == Rules::kFixed;
  return (measured.times_ms[static_cast<size_t>(pick)] - *best) / *best > kWrongAbove;
}

PickErrors EvaluatePicks(const SeerModel& model, std::span<const AlgorithmTimes> measured) {
  PickErrors errors;
  for (const AlgorithmTimes& times : measured) {
    if (!BestOf(times)) continue;
    ++errors.layers;
    errors.wrong += IsWrongPick(times, model.Pick(times.layer), model.rules()) ? 1 : 0;
    if (times.vendor_pick < 0) continue;
    ++errors.vendor_layers;
    errors.vendor_wrong += IsWrongPick(times, times.vendor_pick, model.rules()) ? 1 : 0;
  }
  return errors;
}

std::array<size_t, kClasses> ClassesOfNetwork(const SeerModel& model,
                                              std::span<const Layer> layers) {
  std::array<size_t, kClasses> counts = {};
  for (const Layer& layer : layers) {
    const int pick = model.Pick(layer);
    if (pick < 0) continue;
    const AlgorithmPrediction prediction = model.Predict(layer, pick);
    if (prediction.kernel_class) ++counts[static_cast<size_t>(*prediction.kernel_class)];
  }
  return counts;
}

}  // namespace attune::seer
