// The launches of one KernelPlan on one device.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "attune/device/device.h"
#include "attune/kernel/call_arguments.h"
#include "attune/kernel/kernel_plan.h"
#include "backends/cuda/driver/module.h"

namespace attune::cuda {

// Grid, block and dynamic shared memory of a planned launch.
LaunchShape ShapeOf(const kernel::PlannedLaunch& launch);

// The argument as the kernel takes it: 4 or 8 bytes in the low end. Operands are addresses with
// their offsets in them, so that the offset itself is always 0.
uint64_t ArgumentBits(const kernel::PlannedArgument& argument, const kernel::CallOperands& operands,
                      const Arguments& arguments);

class KernelExecutable final : public Executable {
 public:
  // `operand_names` are those of Arguments::operands, in order. The device outlives the result.
  static Result<std::unique_ptr<KernelExecutable>> Create(CudaDevice& device, const Artifact& cubin,
                                                          kernel::KernelPlan plan,
                                                          std::vector<std::string> operand_names);

  // The same with code that was loaded for another problem and computed it, without name
  // expressions.
  static Result<std::unique_ptr<KernelExecutable>> CreateAgain(
      CudaDevice& device, std::shared_ptr<Module> module, kernel::KernelPlan plan,
      std::vector<std::string> operand_names);

  const std::shared_ptr<Module>& module() const { return module_; }
  size_t workspace_bytes() const override { return static_cast<size_t>(plan_.workspace_bytes); }
  Status Run(const Arguments& arguments) override;

 private:
  struct Step {
    CUfunction function = nullptr;
    const kernel::PlannedLaunch* launch = nullptr;
    LaunchShape shape;
    std::vector<uint64_t> values;                   // Arguments of other kinds than kBytes.
    std::vector<std::vector<unsigned char>> bytes;  // The arguments of kind kBytes.
    std::vector<void*> addresses;                   // Addresses of both.
    std::vector<size_t> varying;  // Those that depend on the call; the others are set once.
  };

  KernelExecutable(CudaDevice& device, std::shared_ptr<Module> module, kernel::KernelPlan plan,
                   std::vector<std::string> operand_names)
      : device_(device),
        module_(std::move(module)),
        plan_(std::move(plan)),
        operands_(std::move(operand_names)) {}
  // `symbol` is the name of the kernel in the code.
  Status AddStep(const kernel::PlannedLaunch& launch, const std::string& symbol);
  // Ok if the code takes as many arguments as the kernel file binds.
  Status CheckParameterCount(const Step& step) const;

  CudaDevice& device_;
  const std::shared_ptr<Module> module_;
  const kernel::KernelPlan plan_;
  const kernel::CallOperands operands_;
  std::vector<Step> steps_;
};

}  // namespace attune::cuda
