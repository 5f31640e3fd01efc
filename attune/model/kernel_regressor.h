// Relative non-negative least squares for each kernel: the time of a kernel is a sum of its
// features with coefficients that are at least 0, and the time of an operation the sum over its
// kernels.
//
// Every signature that has kLeastOfSignature samples has coefficients of its own. One that has
// fewer takes those of its family (the signatures that differ from it in numbers alone, which are
// tiles and stages), times the median ratio of its few samples to them; one never seen takes those
// of its family, a family never seen those of its algorithm, and an algorithm never seen those of
// all. The error that is minimised is the relative one, (x . beta / t - 1)^2, with weights that go
// down for samples far off (Huber's, in rounds), since a few times are of a machine that was busy.
//
// If an operation was only timed as a whole, each kernel gets the share of the time that the
// kernels' own coefficients predict, in rounds. The first round takes coefficients of operations
// whose kernels were timed, or that are one kernel. Without such operations it splits the time
// equally.
//
// Operations without known kernels are predicted by their own features in the same way. The
// algorithm takes the place of the signature.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attune/model/least_squares.h"
#include "attune/model/model_text.h"
#include "attune/model/regressor.h"

namespace attune {

// Coefficients of one kind of row.
struct LinearFit {
  std::vector<double> coefficients;  // At least 0.
  double least_ms = 0;               // The shortest time that was seen: no prediction is far below.

  double Predict(std::span<const double> values) const;
  friend bool operator==(const LinearFit&, const LinearFit&) = default;
};

struct LinearSample {
  std::span<const double> values;
  double time_ms = 0;
};

// REQUIRES: samples, all of one size.
LinearFit FitRelative(std::span<const LinearSample> samples);

// `signature` without its numbers.
std::string FamilyOf(const std::string& signature);

// The time of an operation as a sum over its kernels.
struct KernelSum {
  double time_ms = 0;
  size_t main = 0;        // The kernel that takes longest.
  double main_share = 0;  // Share of the sum; 0 if the time is not one over kernels.
};

class KernelRegressor final : public Regressor {
 public:
  static constexpr std::string_view kName = "nnls";
  static constexpr size_t kLeastOfSignature = 8;

  explicit KernelRegressor(FeatureSet features) : features_(std::move(features)) {}

  std::string_view name() const override { return kName; }
  Status Fit(std::span<const Sample> samples) override;
  // The same for samples at any addresses, so that parts of them are learnt without copies.
  // REQUIRES: CheckSamples() accepts the samples.
  Status Fit(std::span<const Sample* const> samples);
  void Predict(std::span<const FeatureRow> rows, std::span<double> median_ms) const override;
  void PredictEach(const FeatureRow& row, std::span<const std::string_view> algorithms,
                   std::span<double> median_ms) const override;
  void AppendText(std::string& text) const override;
  std::unique_ptr<Regressor> Fresh() const override;

  static Result<std::unique_ptr<Regressor>> ReadFrom(ModelLines& lines, const FeatureSet& features);

  // True if the kernels of any sample were known.
  bool knows_kernels() const { return !kernels_of_algorithms_.empty(); }
  // One kernel of an operation of `algorithm`. REQUIRES: knows_kernels().
  double PredictKernel(std::string_view algorithm, const KernelRow& kernel) const;
  // The time that Predict() returns for one row, and the kernel that takes longest.
  KernelSum PredictSum(const FeatureRow& row) const { return PredictSum(row, row.algorithm); }
  // The same by `algorithm` instead of the row's own.
  KernelSum PredictSum(const FeatureRow& row, std::string_view algorithm) const;

 private:
  // By name, those of all rows under "".
  using Fits = std::map<std::string, LinearFit, std::less<>>;
  static void AppendFits(std::string& text, std::string_view keyword, const Fits& fits);
  static Result<Fits> ReadFits(ModelLines& lines, std::string_view keyword, size_t columns);
  const LinearFit& SharedFit(std::string_view algorithm, const std::string& signature) const;
  // By sample, then by kernel; of samples that are left out nothing.
  using KernelTimes = std::vector<std::vector<double>>;
  void FitKernels(std::span<const Sample* const> samples, const KernelTimes& times_ms);
  // The time of the whole, divided among the kernels in proportion to their fitted times.
  std::vector<double> SharesOf(const Sample& sample) const;
  void FitOperations(std::span<const Sample* const> samples);

  FeatureSet features_;
  Fits signatures_;
  Fits families_;
  Fits kernels_of_algorithms_;
  Fits operations_;
};

}  // namespace attune
