#include "backends/cuda/kernel/kernel_executable.h"

#include <bit>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "backends/cuda/driver/addresses.h"
#include "backends/cuda/kernel/instances.h"

namespace attune::cuda {

LaunchShape ShapeOf(const kernel::PlannedLaunch& launch) {
  LaunchShape shape;
  for (size_t i = 0; i < launch.local.size(); ++i) {
    shape.block[i] = static_cast<unsigned>(launch.local[i]);
    shape.grid[i] = static_cast<unsigned>(launch.groups[i]);
  }
  shape.shared_bytes = static_cast<unsigned>(launch.shared_bytes);
  shape.is_cooperative = launch.is_cooperative;
  if (launch.cluster.empty()) return shape;
  for (size_t i = 0; i < std::size(shape.cluster); ++i) {
    shape.cluster[i] = i < launch.cluster.size() ? static_cast<unsigned>(launch.cluster[i]) : 1;
  }
  return shape;
}

uint64_t ArgumentBits(const kernel::PlannedArgument& argument, const kernel::CallOperands& operands,
                      const Arguments& arguments) {
  using Kind = kernel::KernelArgument::Kind;
  switch (argument.kind) {
    case Kind::kOperand:
      return reinterpret_cast<uint64_t>(AddressOf(operands.ViewOf(argument.name, arguments)));
    case Kind::kOffset:
      return 0;
    case Kind::kInt:
      return static_cast<uint32_t>(std::get<int64_t>(argument.value));
    case Kind::kFloat:
      return std::bit_cast<uint32_t>(static_cast<float>(RealValue(argument, arguments)));
    case Kind::kDouble:
    case Kind::kReal:
      return std::bit_cast<uint64_t>(RealValue(argument, arguments));
    case Kind::kLong:
    case Kind::kLocalBytes:
      return static_cast<uint64_t>(std::get<int64_t>(argument.value));
    case Kind::kBytes:  // Which need not fit.
      return 0;
  }
  return 0;
}

Result<std::unique_ptr<KernelExecutable>> KernelExecutable::Create(
    CudaDevice& device, const Artifact& cubin, kernel::KernelPlan plan,
    std::vector<std::string> operand_names) {
  ATTUNE_ASSIGN_OR_RETURN(std::shared_ptr<Module> module, Module::Load(device, cubin));
  std::unique_ptr<KernelExecutable> executable(
      new KernelExecutable(device, std::move(module), std::move(plan), std::move(operand_names)));
  for (const kernel::PlannedLaunch& launch : executable->plan_.launches) {
    const std::string symbol = SymbolOf(cubin.bytes, launch.function);
    ATTUNE_RETURN_IF_ERROR(executable->AddStep(launch, symbol));
    ATTUNE_RETURN_IF_ERROR(executable->CheckParameterCount(executable->steps_.back()));
  }
  return executable;
}

Result<std::unique_ptr<KernelExecutable>> KernelExecutable::CreateAgain(
    CudaDevice& device, std::shared_ptr<Module> module, kernel::KernelPlan plan,
    std::vector<std::string> operand_names) {
  ATTUNE_RETURN_IF_ERROR(device.Enter());
  std::unique_ptr<KernelExecutable> executable(
      new KernelExecutable(device, std::move(module), std::move(plan), std::move(operand_names)));
  for (const kernel::PlannedLaunch& launch : executable->plan_.launches) {
    ATTUNE_RETURN_IF_ERROR(executable->AddStep(launch, launch.function));
  }
  return executable;
}

Status KernelExecutable::CheckParameterCount(const Step& step) const {
  const std::optional<size_t> count = module_->ParameterCount(step.function);
  if (!count || *count == step.launch->arguments.size()) return Status::Ok();
  return InvalidArgument(
      fmt::format("The kernel '{}' takes {} arguments, its kernel file binds {}.",
                  step.launch->function, *count, step.launch->arguments.size()));
}

Status KernelExecutable::AddStep(const kernel::PlannedLaunch& launch, const std::string& symbol) {
  Step step;
  step.launch = &launch;
  step.shape = ShapeOf(launch);
  ATTUNE_ASSIGN_OR_RETURN(step.function, module_->Function(symbol, step.shape.shared_bytes));
  // Before the first launch, which would fail, and be taken for a fault of the kernel.
  Status fits = CheckClustersFit(device_.driver(), step.function, step.shape);
  if (fits.ok()) {
    fits =
        CheckBlocksFit(device_.driver(), step.function, step.shape, device_.target().compute_units);
  }
  if (!fits.ok()) return fits.WithContext(fmt::format("Kernel '{}'", launch.function));
  step.values.resize(launch.arguments.size());
  for (size_t i = 0; i < launch.arguments.size(); ++i) {
    if (DependsOnCall(launch.arguments[i])) {
      step.varying.push_back(i);
    } else {
      step.values[i] = ArgumentBits(launch.arguments[i], operands_, Arguments{});
    }
    if (launch.arguments[i].kind == kernel::KernelArgument::Kind::kBytes) {
      step.bytes.push_back(kernel::BytesOf(launch.arguments[i]));
      step.addresses.push_back(step.bytes.back().data());
    } else {
      step.addresses.push_back(&step.values[i]);
    }
  }
  steps_.push_back(std::move(step));
  return Status::Ok();
}

Status KernelExecutable::Run(const Arguments& arguments) {
  ATTUNE_RETURN_IF_ERROR(device_.Enter());
  ATTUNE_RETURN_IF_ERROR(operands_.Check(arguments));
  const CUstream stream = device_.StreamOf(arguments);
  for (Step& step : steps_) {
    for (const size_t i : step.varying) {
      step.values[i] = ArgumentBits(step.launch->arguments[i], operands_, arguments);
    }
    const Status launched =
        module_->Launch(step.function, step.shape, step.addresses.data(), stream);
    if (!launched.ok()) {
      return launched.WithContext(fmt::format("Kernel '{}'", step.launch->function));
    }
  }
  return Status::Ok();
}

}  // namespace attune::cuda
