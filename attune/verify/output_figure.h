// Metrics that a kernel wrote, read out of device memory.
#pragma once

#include <cstddef>
#include <vector>

#include "attune/base/status.h"
#include "attune/device/device.h"
#include "attune/problem/problem.h"
#include "attune/trial/figure.h"

namespace attune {

// Reads the results of the last launch on `arguments`. Borrows `device` and the memory of
// `arguments`.
class FigureReader {
 public:
  FigureReader(Device& device, std::vector<Operand> operands, const Arguments& arguments,
               size_t workspace_bytes)
      : device_(device),
        operands_(std::move(operands)),
        arguments_(arguments),
        workspace_bytes_(workspace_bytes) {}

  // kInvalidArgument if the source lies outside of its operand, or names none; kUnavailable if an
  // element is NaN or infinite, which poison is, too: the kernel did not write it.
  Result<double> Read(const FigureSource& source) const;

 private:
  struct Region {
    BufferView view;
    size_t size_bytes = 0;
  };
  Result<Region> RegionOf(const FigureSource& source) const;

  Device& device_;
  const std::vector<Operand> operands_;
  const Arguments arguments_;
  const size_t workspace_bytes_;
};

}  // namespace attune
