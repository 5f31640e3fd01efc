// Copies of bound operands in device memory that timed launches use in turn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "attune/base/status.h"
#include "attune/device/device.h"
#include "attune/problem/problem.h"
#include "attune/verify/bound_operands.h"
#include "attune/verify/rotation.h"

namespace attune {

// Not thread-safe. The memory of the copies is this object's; that of the first operands is not
// touched by any launch on it.
class RotatingOperands {
 public:
  // As many copies as PlanRotation plans, each with the present content of `operands`, gaps
  // included, and with no better alignment than they have. kResourceExhausted if the device has no
  // memory for them.
  static Result<RotatingOperands> Create(Device& device, const Problem& problem,
                                         const BoundOperands& operands, int64_t budget_bytes,
                                         size_t limit_bytes);

  size_t copies() const { return views_.size(); }

  // The operands of the next copy; everything else as in `arguments`. Valid as long as this object.
  Arguments Next(const Arguments& arguments);

 private:
  RotatingOperands(std::unique_ptr<Buffer> block, const RotationPlan& plan)
      : block_(std::move(block)), rotation_(plan) {}

  std::unique_ptr<Buffer> block_;
  std::vector<std::vector<BufferView>> views_;  // For each copy.
  Rotation rotation_;
};

// Launches `executable` on the next copy each time, so that a timer of consecutive launches need
// not know of copies. Borrows both.
class RotatingExecutable final : public Executable {
 public:
  RotatingExecutable(Executable& executable, RotatingOperands& operands)
      : executable_(executable), operands_(operands) {}

  size_t workspace_bytes() const override { return executable_.workspace_bytes(); }
  Status Run(const Arguments& arguments) override {
    return executable_.Run(operands_.Next(arguments));
  }
  Executable& launched() override { return executable_.launched(); }

 private:
  Executable& executable_;
  RotatingOperands& operands_;
};

}  // namespace attune
