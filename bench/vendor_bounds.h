// The bounds of the choices of cuda_gemm and cuda_conv: the candidate that serves an untuned shape,
// and the time that no implementation can beat.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "attune/base/status.h"
#include "attune/problem/problem.h"
#include "attune/problem/target.h"
#include "attune/trial/candidate.h"

namespace attune {

// The candidates that serve `problems` in a program on `device` without any record; nothing where
// one would have to be compiled first. Fails if no runtime can be created there.
Result<std::vector<std::optional<Candidate>>> ServedUnseen(const std::string& device,
                                                           const std::vector<Problem>& problems);

// Rooflines of a device. Its arithmetic peaks are the rates of its matrix library on one large
// product of the same type, since no general peak holds for tensor cores.
class Roofline {
 public:
  // `peaks` are those of the device; `matrix_solver` multiplies with its default config.
  Roofline(std::string device, std::string matrix_solver, const Peaks& peaks)
      : device_(std::move(device)), matrix_solver_(std::move(matrix_solver)), peaks_(peaks) {}

  // Nanoseconds: the larger of operations / peak and compulsory bytes / bandwidth of memory.
  // Operands that stay in a cache can be read faster than that bandwidth. Strict f32 may be
  // computed as three products of tf32 parts, so its peak is a third of theirs if that is higher.
  // Measures a type that is asked for the first time; fails as the measurement does.
  Result<double> Ns(const Problem& problem);

 private:
  // Operations per second of the large product.
  Result<double> MatrixFlops(DataType type, MathMode math);

  std::string device_;
  std::string matrix_solver_;
  Peaks peaks_;
  std::map<std::pair<DataType, MathMode>, double> measured_;
};

}  // namespace attune
