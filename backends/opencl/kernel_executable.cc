#include "backends/opencl/kernel_executable.h"

#include <algorithm>

#include <fmt/format.h>

#include "attune/kernel/device_limits.h"

namespace attune::opencl {
namespace {

using Kind = kernel::KernelArgument::Kind;

bool TakesOffset(const kernel::PlannedLaunch& launch, const std::string& name) {
  return std::any_of(launch.arguments.begin(), launch.arguments.end(),
                     [&](const kernel::PlannedArgument& argument) {
                       return argument.kind == Kind::kOffset && argument.name == name;
                     });
}

template <class T>
cl_int SetScalar(cl_kernel kernel, size_t index, T value) {
  return clSetKernelArg(kernel, static_cast<cl_uint>(index), sizeof value, &value);
}

}  // namespace

KernelExecutable::KernelExecutable(OpenClDevice& device, ProgramHandle program,
                                   kernel::KernelPlan plan, std::vector<std::string> operand_names)
    : device_(&device),
      program_(std::move(program)),
      plan_(std::move(plan)),
      operands_(std::move(operand_names)) {}

Result<std::unique_ptr<KernelExecutable>> KernelExecutable::Create(
    OpenClDevice& device, ProgramHandle program, kernel::KernelPlan plan,
    std::vector<std::string> operand_names) {
  std::unique_ptr<KernelExecutable> executable(
      new KernelExecutable(device, std::move(program), std::move(plan), std::move(operand_names)));
  for (const kernel::PlannedLaunch& launch : executable->plan_.launches) {
    ATTUNE_RETURN_IF_ERROR(executable->AddStep(launch));
  }
  return executable;
}

Status KernelExecutable::AddStep(const kernel::PlannedLaunch& launch) {
  cl_int code = CL_SUCCESS;
  Step step;
  step.kernel = KernelHandle(clCreateKernel(program_.get(), launch.function.c_str(), &code));
  ATTUNE_RETURN_IF_ERROR(
      ClStatus(code, fmt::format("Cannot create the kernel '{}'", launch.function)));
  cl_uint argument_count = 0;
  ATTUNE_RETURN_IF_ERROR(ClStatus(clGetKernelInfo(step.kernel.get(), CL_KERNEL_NUM_ARGS,
                                                  sizeof argument_count, &argument_count, nullptr),
                                  "Cannot ask for the number of arguments"));
  if (argument_count != launch.arguments.size()) {
    return InvalidArgument(
        fmt::format("The kernel '{}' takes {} arguments, its kernel file binds {}.",
                    launch.function, argument_count, launch.arguments.size()));
  }
  step.launch = &launch;
  for (size_t i = 0; i < launch.arguments.size(); ++i) {
    if (DependsOnCall(launch.arguments[i])) {
      step.varying.push_back(i);
    } else {
      ATTUNE_RETURN_IF_ERROR(SetArgument(step, i, Arguments{}));
    }
  }
  for (size_t i = 0; i < launch.local.size(); ++i) {
    step.local.push_back(static_cast<size_t>(launch.local[i]));
    step.global.push_back(static_cast<size_t>(launch.local[i] * launch.groups[i]));
  }
  ATTUNE_RETURN_IF_ERROR(CheckFits(step));
  steps_.push_back(std::move(step));
  return Status::Ok();
}

Status KernelExecutable::CheckFits(const Step& step) const {
  const DeviceEntry& entry = device_->entry();
  ATTUNE_ASSIGN_OR_RETURN(const Config limits,
                          kernel::DeviceLimitsOf(entry.target, kernel::KernelLanguage::kOpenCl));
  const auto limit = [&](const char* name) {
    return static_cast<uint64_t>(std::get<int64_t>(limits.at(name)));
  };
  uint64_t work_items = 1;
  for (const size_t items : step.local) work_items *= items;
  if (work_items > limit("max_work_group_size")) {
    return Unsupported(
        fmt::format("The kernel '{}' needs work-groups of {} work-items, and {} has at most {}. A "
                    "constraint on 'max_work_group_size' in its kernel file leaves that out.",
                    step.launch->function, work_items, entry.spec, limit("max_work_group_size")));
  }
  cl_ulong local_bytes = 0;
  ATTUNE_RETURN_IF_ERROR(ClStatus(
      clGetKernelWorkGroupInfo(step.kernel.get(), entry.device, CL_KERNEL_LOCAL_MEM_SIZE,
                               sizeof local_bytes, &local_bytes, nullptr),
      fmt::format("Cannot ask for the local memory of the kernel '{}'", step.launch->function)));
  if (local_bytes > limit("local_memory_bytes")) {
    return Unsupported(fmt::format(
        "The kernel '{}' needs {} bytes of local memory, and {} has {}. A constraint on "
        "'local_memory_bytes' in its kernel file leaves that out.",
        step.launch->function, local_bytes, entry.spec, limit("local_memory_bytes")));
  }
  return Status::Ok();
}

Result<cl_mem> KernelExecutable::SubBuffer(const std::string& name, BufferView view) {
  Place& place = places_[name];
  const bool same = place.sub_buffer.get() != nullptr && place.view.handle == view.handle &&
                    place.view.offset_bytes == view.offset_bytes;
  if (same) return place.sub_buffer.get();
  const cl_mem parent = static_cast<cl_mem>(view.handle);
  size_t parent_bytes = 0;
  ATTUNE_RETURN_IF_ERROR(
      ClStatus(clGetMemObjectInfo(parent, CL_MEM_SIZE, sizeof parent_bytes, &parent_bytes, nullptr),
               "Cannot ask for the size of a buffer"));
  const cl_buffer_region region = {view.offset_bytes, parent_bytes - view.offset_bytes};
  cl_int code = CL_SUCCESS;
  // A sub-buffer keeps its parent alive, so the comparison above cannot meet a new buffer at an old
  // address.
  place.sub_buffer = MemoryHandle(
      clCreateSubBuffer(parent, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &code));
  ATTUNE_RETURN_IF_ERROR(ClStatus(code, fmt::format("Operand '{}' starts {} bytes into its buffer, "
                                                    "where no sub-buffer can start; let the kernel "
                                                    "take its offset ('offset_of')",
                                                    name, view.offset_bytes)));
  place.view = view;
  return place.sub_buffer.get();
}

Status KernelExecutable::SetArgument(const Step& step, size_t index, const Arguments& arguments) {
  const kernel::PlannedArgument& argument = step.launch->arguments[index];
  const cl_kernel kernel = step.kernel.get();
  cl_int code = CL_SUCCESS;
  switch (argument.kind) {
    case Kind::kOperand: {
      const BufferView view = operands_.ViewOf(argument.name, arguments);
      cl_mem memory = static_cast<cl_mem>(view.handle);
      if (view.offset_bytes != 0 && !TakesOffset(*step.launch, argument.name)) {
        ATTUNE_ASSIGN_OR_RETURN(memory, SubBuffer(argument.name, view));
      }
      code = SetScalar(kernel, index, memory);
      break;
    }
    case Kind::kOffset: {
      const BufferView view = operands_.ViewOf(argument.name, arguments);
      const auto element = plan_.element_bytes.find(argument.name);
      const size_t element_bytes =
          element == plan_.element_bytes.end() ? 1 : static_cast<size_t>(element->second);
      if (view.offset_bytes % element_bytes != 0) {
        return InvalidArgument(
            fmt::format("Operand '{}' starts {} bytes into its buffer, which is no multiple of "
                        "its elements of {} bytes.",
                        argument.name, view.offset_bytes, element_bytes));
      }
      code = SetScalar(kernel, index, static_cast<cl_long>(view.offset_bytes / element_bytes));
      break;
    }
    case Kind::kInt:
      code = SetScalar(kernel, index, static_cast<cl_int>(std::get<int64_t>(argument.value)));
      break;
    case Kind::kLong:
      code = SetScalar(kernel, index, static_cast<cl_long>(std::get<int64_t>(argument.value)));
      break;
    case Kind::kFloat:
      code = SetScalar(kernel, index, static_cast<cl_float>(RealValue(argument, arguments)));
      break;
    case Kind::kDouble:
    case Kind::kReal:
      code = SetScalar(kernel, index, RealValue(argument, arguments));
      break;
    case Kind::kLocalBytes:
      code = clSetKernelArg(kernel, static_cast<cl_uint>(index),
                            static_cast<size_t>(std::get<int64_t>(argument.value)), nullptr);
      break;
    case Kind::kBytes: {
      const std::vector<unsigned char> bytes = kernel::BytesOf(argument);
      code = clSetKernelArg(kernel, static_cast<cl_uint>(index), bytes.size(), bytes.data());
      break;
    }
  }
  if (code == CL_SUCCESS) return Status::Ok();
  return ClStatus(
      code, fmt::format("Cannot set argument {} of kernel '{}'", index, step.launch->function));
}

Status KernelExecutable::Run(const Arguments& arguments) {
  ATTUNE_RETURN_IF_ERROR(operands_.Check(arguments));
  for (const Step& step : steps_) {
    for (size_t i : step.varying) ATTUNE_RETURN_IF_ERROR(SetArgument(step, i, arguments));
    const cl_int code = clEnqueueNDRangeKernel(
        device_->queue(), step.kernel.get(), static_cast<cl_uint>(step.global.size()), nullptr,
        step.global.data(), step.local.data(), 0, nullptr, nullptr);
    if (code != CL_SUCCESS) {
      return ClStatus(code, fmt::format("Cannot launch kernel '{}'", step.launch->function));
    }
  }
  return Status::Ok();
}

}  // namespace attune::opencl
