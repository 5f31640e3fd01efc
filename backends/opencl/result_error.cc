#include "backends/opencl/result_error.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "attune/base/random.h"
#include "attune/ops/gemm/gemm.h"
#include "backends/opencl/naive_reference.h"

namespace attune::opencl {
namespace {

// Start of an operand within its buffer: a multiple of no more than one float, so that nothing can
// rely on alignment.
constexpr size_t kOffsetElements = 37;

double ValueOf(ScalarClass scalar) {
  if (scalar == ScalarClass::kZero) return 0;
  return scalar == ScalarClass::kOne ? 1 : -1.5;
}

template <class T>
std::vector<std::byte> Encoded(const std::vector<double>& values) {
  std::vector<T> typed(kOffsetElements, std::numeric_limits<T>::quiet_NaN());
  for (double value : values) typed.push_back(static_cast<T>(value));
  const auto bytes = std::as_bytes(std::span(typed));
  return {bytes.begin(), bytes.end()};
}

template <class T>
std::vector<double> Decoded(std::span<const std::byte> bytes) {
  std::vector<double> values(bytes.size() / sizeof(T));
  for (size_t i = 0; i < values.size(); ++i) {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    values[i] = static_cast<double>(value);
  }
  return values;
}

std::vector<double> RandomValues(Random& random, int64_t count) {
  std::vector<double> values(static_cast<size_t>(count));
  for (double& value : values)
    value = static_cast<double>(static_cast<float>(random.Uniform() - 0.5));
  return values;
}

// The content of every operand, as numbers; an output is poisoned with NaN.
std::vector<std::vector<double>> Contents(const Problem& problem, uint64_t seed) {
  Random random(seed);
  std::vector<std::vector<double>> contents;
  for (const Operand& operand : Operands(problem)) {
    contents.push_back(RandomValues(random, SpanElements(operand.tensor)));
    if (operand.role != OperandRole::kOut) continue;
    std::fill(contents.back().begin(), contents.back().end(),
              std::numeric_limits<double>::quiet_NaN());
  }
  return contents;
}

// In units of `tolerance`.
double WorstDifference(std::span<const double> expected, std::span<const double> actual,
                       double tolerance) {
  double worst = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    // A gap keeps its content: NaN where the output was poisoned, else the same bits.
    if (std::isnan(expected[i]) && std::isnan(actual[i])) continue;
    const double error = std::abs(expected[i] - actual[i]) / tolerance;
    if (std::isnan(error)) return std::numeric_limits<double>::infinity();
    worst = std::max(worst, error);
  }
  return worst;
}

}  // namespace

Result<double> ErrorOf(Executable& executable, Device& device, const Problem& problem,
                       uint64_t seed) {
  const bool f64 = OutputType(problem) == DataType::kF64;
  const size_t element_bytes = f64 ? 8 : 4;
  const std::vector<std::vector<double>> contents = Contents(problem, seed);
  std::vector<std::unique_ptr<Buffer>> buffers;
  std::vector<BufferView> views;
  for (const std::vector<double>& content : contents) {
    const auto bytes = f64 ? Encoded<double>(content) : Encoded<float>(content);
    ATTUNE_ASSIGN_OR_RETURN(auto buffer, device.Allocate(bytes.size()));
    views.push_back(buffer->View(kOffsetElements * element_bytes));
    ATTUNE_RETURN_IF_ERROR(device.Upload(bytes, buffer->View(0)));
    buffers.push_back(std::move(buffer));
  }
  ATTUNE_ASSIGN_OR_RETURN(const auto workspace, device.Allocate(executable.workspace_bytes()));
  const Gemm* gemm = problem.As<Gemm>();
  const double alpha = gemm == nullptr ? 1 : ValueOf(gemm->alpha);
  const double beta = gemm == nullptr ? 0 : ValueOf(gemm->beta);
  ATTUNE_RETURN_IF_ERROR(executable.Run({views, workspace->View(0), alpha, beta}));
  std::vector<std::byte> bytes(contents.back().size() * element_bytes);
  ATTUNE_RETURN_IF_ERROR(device.Download(views.back(), bytes));
  // Inputs are at most 1/2, so a sum of r products is at most r/4 and each of its r roundings half
  // a unit of that.
  const double tolerance =
      UnitRoundoff(OutputType(problem)) * (4 + static_cast<double>(ReductionLength(problem))) * 2;
  return WorstDifference(NaiveResult(problem, contents, alpha, beta),
                         f64 ? Decoded<double>(bytes) : Decoded<float>(bytes), tolerance);
}

}  // namespace attune::opencl
