// The launches of one KernelPlan on one device.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "attune/device/device.h"
#include "attune/kernel/call_arguments.h"
#include "attune/kernel/kernel_plan.h"
#include "attune/problem/problem.h"
#include "backends/opencl/cl_handles.h"
#include "backends/opencl/opencl_device.h"

namespace attune::opencl {

class KernelExecutable final : public Executable {
 public:
  // Creates the kernels of `plan` out of `program`. `operand_names` are those of
  // Arguments::operands, in order. The device must outlive the result. kUnsupported if a launch
  // needs more work-items in a work-group, or more local memory, than the target of the device has:
  // drivers refuse that as late as they like, or crash.
  static Result<std::unique_ptr<KernelExecutable>> Create(OpenClDevice& device,
                                                          ProgramHandle program,
                                                          kernel::KernelPlan plan,
                                                          std::vector<std::string> operand_names);

  size_t workspace_bytes() const override { return static_cast<size_t>(plan_.workspace_bytes); }
  // kInvalidArgument if an operand does not start at a multiple of its elements. An operand with an
  // offset that the kernel does not take must have the device's alignment of sub-buffers.
  Status Run(const Arguments& arguments) override;

 private:
  struct Step {
    KernelHandle kernel;
    const kernel::PlannedLaunch* launch = nullptr;
    std::vector<size_t> global;
    std::vector<size_t> local;
    std::vector<size_t>
        varying;  // Indices of arguments that depend on the call; the others are set once.
  };
  // The current location of an operand: kept to create a sub-buffer only when it moves.
  struct Place {
    BufferView view;
    MemoryHandle sub_buffer;
  };

  KernelExecutable(OpenClDevice& device, ProgramHandle program, kernel::KernelPlan plan,
                   std::vector<std::string> operand_names);
  Status AddStep(const kernel::PlannedLaunch& launch);
  // Ok if the launch of `step` fits into the device. REQUIRES: its arguments are set.
  Status CheckFits(const Step& step) const;
  Status SetArgument(const Step& step, size_t index, const Arguments& arguments);
  Result<cl_mem> SubBuffer(const std::string& name, BufferView view);

  OpenClDevice* device_;
  ProgramHandle program_;
  kernel::KernelPlan plan_;
  kernel::CallOperands operands_;
  std::vector<Step> steps_;
  std::map<std::string, Place> places_;
};

}  // namespace attune::opencl
