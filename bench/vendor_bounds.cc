#include "bench/vendor_bounds.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "apps/attune/program_runtime.h"
#include "attune/measure/statistics.h"
#include "attune/ops/gemm/gemm.h"
#include "attune/problem/other_op.h"
#include "bench/figures.h"
#include "bench/fresh_race.h"

namespace attune {
namespace {

// Large enough to reach the peak, and no larger: the product is verified before it is timed, which
// is long work in the precision above f64.
constexpr int64_t kMatrixSide = 8192;
constexpr int64_t kWideMatrixSide = 3072;  // For f32 and f64.
constexpr int kMatrixRounds = 5;
// Each operand in a high and a low part; the product of the low parts is too small to matter.
constexpr double kProductsOfSplitF32 = 3;

// The type of the library's products of such inputs.
DataType ResultType(DataType type) {
  switch (type) {
    case DataType::kI8:
      return DataType::kI32;
    case DataType::kF8E4M3:
    case DataType::kF8E5M2:
      return DataType::kBf16;
    default:
      return type;
  }
}

}  // namespace

Result<std::vector<std::optional<Candidate>>> ServedUnseen(const std::string& device,
                                                           const std::vector<Problem>& problems) {
  const BenchFolder folder("");
  ATTUNE_ASSIGN_OR_RETURN(const ProgramRuntime runtime,
                          ProgramRuntime::Make(device, (folder.path() / "none.db").string()));
  std::vector<std::optional<Candidate>> candidates;
  for (const Problem& problem : problems) {
    const Served served = runtime.Ask(problem);
    if (!served.explanation.has_value()) {
      return Internal(fmt::format("{} would not be served: {}", Text(problem), served.reason));
    }
    const std::optional<Option>& serves = served.explanation->serves;
    candidates.push_back(serves.has_value() ? std::optional(serves->candidate) : std::nullopt);
  }
  return candidates;
}

Result<double> Roofline::MatrixFlops(DataType type, MathMode math) {
  const auto known = measured_.find({type, math});
  if (known != measured_.end()) return known->second;
  Gemm gemm;
  const bool is_wide = type == DataType::kF64 || type == DataType::kF32;
  gemm.m = gemm.n = gemm.k = is_wide ? kWideMatrixSide : kMatrixSide;
  gemm.trans_a = Transpose::kYes;
  gemm.type = type;
  gemm.c_type = ResultType(type);
  gemm.math = math;
  const Problem problem = Normalized(gemm);
  const RacePlan plan{.device = device_,
                      .problem = problem,
                      .candidates = {Candidate{{matrix_solver_, 1}, {}}},
                      .rounds = kMatrixRounds};
  ATTUNE_ASSIGN_OR_RETURN(const RaceSamples samples, RaceInFreshProcess(plan));
  if (samples[0].empty()) {
    return Internal(fmt::format("{} cannot multiply {}.", matrix_solver_, Text(problem)));
  }
  const double flops = Flops(problem) / Median(samples[0]) * 1e9;
  measured_[{type, math}] = flops;
  return flops;
}

Result<double> Roofline::Ns(const Problem& problem) {
  if (problem.Is<OtherOp>()) {
    return Unsupported("Nothing bounds an operator that is not known.");
  }
  const auto type = static_cast<DataType>(FieldOr(problem, kTypeField, 0));
  const auto math = static_cast<MathMode>(FieldOr(problem, kMathField, 0));
  ATTUNE_ASSIGN_OR_RETURN(double flops, MatrixFlops(type, math));
  if (type == DataType::kF32 && math == MathMode::kStrict) {
    ATTUNE_ASSIGN_OR_RETURN(const double tf32, MatrixFlops(type, MathMode::kTf32));
    flops = std::max(flops, tf32 / kProductsOfSplitF32);
  }
  if (!(peaks_.bytes_per_second > 0)) return Internal("The bandwidth is not known.");
  return 1e9 * std::max(Flops(problem) / flops, CompulsoryBytes(problem) / peaks_.bytes_per_second);
}

}  // namespace attune
