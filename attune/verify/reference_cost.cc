#include "attune/verify/reference_cost.h"

#include "attune/base/product.h"
#include "attune/problem/reference.h"

namespace attune {
namespace {

constexpr double kCoreNsPerMultiplyAdd = 0.2;
// Start of a worker process and loading of the kernel, which may have to be compiled first. Opening
// the device costs nothing extra, because candidates need it, too.
constexpr double kDeviceStartNs = 200e6;
// Both ways, from memory that the driver has not pinned.
constexpr double kDeviceNsPerByte = 0.3;
// Measured on an H200, copies included: 63 ms for a GEMM of 4096^3.
constexpr double kDeviceNsPerMultiplyAdd = 1e-3;

}  // namespace

double ReferenceMultiplyAdds(const Problem& problem) {
  const Reference* const reference = problem.op().reference();
  return reference == nullptr ? 0 : reference->MultiplyAdds(problem);
}

double MultiplyAddCost(const Problem& problem) {
  constexpr double kDoubleDoubleCost = 10;
  const DataType inputs = Operands(problem).front().tensor.type;
  return PrecisionFor(inputs) == Precision::kDoubleDouble ? kDoubleDoubleCost : 1;
}

double ProcessorReferenceNs(const Problem& problem, int cores) {
  return kCoreNsPerMultiplyAdd / cores * ReferenceMultiplyAdds(problem) * MultiplyAddCost(problem);
}

bool PaysOnDevice(const Problem& problem, int cores) {
  double bytes = 0;
  for (const Operand& operand : Operands(problem)) {
    if (operand.role != OperandRole::kOut) bytes += static_cast<double>(SpanBytes(operand.tensor));
    if (operand.role != OperandRole::kIn) {
      bytes += static_cast<double>(SpanElements(operand.tensor)) * sizeof(double);
    }
  }
  const double device_ns =
      kDeviceStartNs + kDeviceNsPerByte * bytes +
      kDeviceNsPerMultiplyAdd * ReferenceMultiplyAdds(problem) * MultiplyAddCost(problem);
  return ProcessorReferenceNs(problem, cores) > device_ns;
}

}  // namespace attune
