#include "backends/opencl/program_builder.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "backends/opencl/kernel_executable.h"
#include "backends/opencl/opencl_device.h"

namespace attune::opencl {
namespace {

// C with the vector extensions that every platform has. No fast-math: the result would depend on
// the compiler's mood.
constexpr std::string_view kStandard = "-cl-std=CL1.2";
constexpr std::string_view kStandardOption = "-cl-std=";
constexpr std::string_view kWarmUpMark = "// attune warm-up ";
// A draft begins with a line of this and the compiler options.
constexpr std::string_view kDraftMark = "// attune draft ";

std::string BuildLog(cl_program program, cl_device_id device) {
  size_t size = 0;
  clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size);
  std::string log(size, '\0');
  if (size > 0)
    clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, size, log.data(), nullptr);
  log.erase(std::find(log.begin(), log.end(), '\0'), log.end());
  return log;
}

// `log` gets the compiler's warnings.
Result<ProgramHandle> CompileSource(cl_context context, const DeviceEntry& entry,
                                    const BuildRecipe& recipe, std::string& log) {
  cl_int code = CL_SUCCESS;
  const char* text = recipe.source.data();
  const size_t length = recipe.source.size();
  ProgramHandle program(clCreateProgramWithSource(context, 1, &text, &length, &code));
  ATTUNE_RETURN_IF_ERROR(ClStatus(code, "Cannot create a program from source"));
  const cl_device_id id = entry.device;
  // PoCL's clang prints its warning count to standard error.
  const std::string options = recipe.warns ? recipe.options : recipe.options + " -w";
  code = clBuildProgram(program.get(), 1, &id, options.c_str(), nullptr, nullptr);
  if (code == CL_OUT_OF_HOST_MEMORY || code == CL_OUT_OF_RESOURCES)
    return ClStatus(code, "Cannot compile");
  if (code != CL_SUCCESS) {
    return InvalidArgument(fmt::format("{} does not compile the kernel ({}):\n{}",
                                       entry.CompilerIdentity(), ClErrorName(code),
                                       BuildLog(program.get(), id)));
  }
  log = BuildLog(program.get(), id);
  return program;
}

Result<std::unique_ptr<Buffer>> AllocateZeros(OpenClDevice& device, int64_t size_bytes) {
  ATTUNE_ASSIGN_OR_RETURN(std::unique_ptr<Buffer> buffer,
                          device.Allocate(static_cast<size_t>(size_bytes)));
  const cl_uchar zero = 0;
  ATTUNE_RETURN_IF_ERROR(ClStatus(
      clEnqueueFillBuffer(device.queue(), static_cast<cl_mem>(buffer->handle()), &zero, sizeof zero,
                          0, std::max<size_t>(buffer->size_bytes(), 1), 0, nullptr, nullptr),
      "Cannot fill a buffer"));
  return buffer;
}

// Launches everything once. The caller keeps `program` and takes its binary afterwards.
Status WarmUp(OpenClDevice& device, cl_program program, const kernel::KernelPlan& plan) {
  std::vector<std::unique_ptr<Buffer>> buffers;
  std::vector<std::string> names;
  std::vector<BufferView> views;
  for (const auto& [name, size_bytes] : plan.operand_bytes) {
    ATTUNE_ASSIGN_OR_RETURN(std::unique_ptr<Buffer> buffer, AllocateZeros(device, size_bytes));
    names.push_back(name);
    views.push_back(buffer->View(0));
    buffers.push_back(std::move(buffer));
  }
  ATTUNE_ASSIGN_OR_RETURN(std::unique_ptr<Buffer> workspace,
                          AllocateZeros(device, plan.workspace_bytes));
  ATTUNE_RETURN_IF_ERROR(ClStatus(clRetainProgram(program), "Cannot share a program"));
  ATTUNE_ASSIGN_OR_RETURN(const std::unique_ptr<KernelExecutable> executable,
                          KernelExecutable::Create(device, ProgramHandle(program), plan, names));
  const Arguments arguments{.operands = views, .workspace = workspace->View(0)};
  ATTUNE_RETURN_IF_ERROR(executable->Run(arguments));
  return device.Synchronize();
}

Result<Artifact> BinaryOf(cl_program program) {
  size_t size = 0;
  ATTUNE_RETURN_IF_ERROR(
      ClStatus(clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, nullptr),
               "Cannot size a binary"));
  if (size == 0)
    return Internal("The OpenCL platform gives no binary of a program that it compiled.");
  Artifact artifact{std::string(size, '\0')};
  auto* bytes = reinterpret_cast<unsigned char*>(artifact.bytes.data());
  ATTUNE_RETURN_IF_ERROR(
      ClStatus(clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof bytes, &bytes, nullptr),
               "Cannot take a binary"));
  return artifact;
}

// The plan in the first line of `source`, or nothing.
Result<std::optional<kernel::KernelPlan>> WarmUpOf(std::string_view source) {
  if (!source.starts_with(kWarmUpMark)) return std::optional<kernel::KernelPlan>();
  const std::string_view line =
      source.substr(kWarmUpMark.size(), source.find('\n') - kWarmUpMark.size());
  ATTUNE_ASSIGN_OR_RETURN(kernel::KernelPlan plan, kernel::ParseKernelPlan(line));
  return std::optional<kernel::KernelPlan>(std::move(plan));
}

Result<const DeviceEntry*> DeviceOf(const Inventory& inventory, const BuildRecipe& recipe) {
  for (const DeviceEntry& entry : inventory.Devices()) {
    const bool same =
        entry.CompilerIdentity() == recipe.compiler && entry.CodeIdentity() == recipe.target;
    if (same && entry.reason.empty()) return &entry;
  }
  return Unavailable(fmt::format("There is no OpenCL device '{}' with compiler '{}' here.",
                                 recipe.target, recipe.compiler));
}

}  // namespace

BuildRecipe MakeRecipe(const DeviceEntry& entry, std::string_view source,
                       const std::string& warm_up, const std::vector<std::string>& options) {
  const bool has_standard =
      std::any_of(options.begin(), options.end(),
                  [](const std::string& option) { return option.starts_with(kStandardOption); });
  std::string words(has_standard ? "" : kStandard);
  for (const std::string& option : options) words += (words.empty() ? "" : " ") + option;
  std::string text;
  if (!warm_up.empty()) text = fmt::format("{}{}\n", kWarmUpMark, warm_up);
  text += source;
  return {std::move(text), std::move(words), entry.CompilerIdentity(), entry.CodeIdentity()};
}

BuildRecipe DraftOf(BuildRecipe recipe) {
  recipe.source.insert(0, fmt::format("{}{}\n", kDraftMark, recipe.options));
  return recipe;
}

Result<Artifact> BuildArtifact(const Inventory& inventory, const BuildRecipe& recipe) {
  ATTUNE_ASSIGN_OR_RETURN(const DeviceEntry* entry, DeviceOf(inventory, recipe));
  ATTUNE_ASSIGN_OR_RETURN(const std::unique_ptr<OpenClDevice> device, OpenClDevice::Open(*entry));
  std::string log;
  ATTUNE_ASSIGN_OR_RETURN(const ProgramHandle program,
                          CompileSource(device->context(), *entry, recipe, log));
  const bool is_draft = recipe.source.starts_with(kDraftMark);
  std::string_view source = recipe.source;
  if (is_draft) source.remove_prefix(source.find('\n') + 1);
  ATTUNE_ASSIGN_OR_RETURN(const std::optional<kernel::KernelPlan> warm_up, WarmUpOf(source));
  if (warm_up) ATTUNE_RETURN_IF_ERROR(WarmUp(*device, program.get(), *warm_up));
  Artifact artifact{recipe.source};
  if (!is_draft) {
    ATTUNE_ASSIGN_OR_RETURN(artifact, BinaryOf(program.get()));
  }
  artifact.log = std::move(log);
  return artifact;
}

Result<ProgramHandle> LoadProgram(cl_context context, const DeviceEntry& entry,
                                  const Artifact& artifact) {
  if (artifact.bytes.starts_with(kDraftMark)) {
    const size_t end = std::min(artifact.bytes.find('\n'), artifact.bytes.size());
    const std::string options = artifact.bytes.substr(kDraftMark.size(), end - kDraftMark.size());
    std::string log;
    // The same options again: they are part of the key of PoCL's cache.
    return CompileSource(context, entry, {artifact.bytes, options, "", ""}, log);
  }
  cl_int code = CL_SUCCESS;
  cl_int binary_code = CL_SUCCESS;
  const size_t length = artifact.bytes.size();
  const auto* bytes = reinterpret_cast<const unsigned char*>(artifact.bytes.data());
  ProgramHandle program(
      clCreateProgramWithBinary(context, 1, &entry.device, &length, &bytes, &binary_code, &code));
  ATTUNE_RETURN_IF_ERROR(ClStatus(code == CL_SUCCESS ? binary_code : code,
                                  fmt::format("{} does not accept the binary", entry.spec)));
  code = clBuildProgram(program.get(), 1, &entry.device, "", nullptr, nullptr);
  ATTUNE_RETURN_IF_ERROR(ClStatus(code, fmt::format("{} cannot load the binary", entry.spec)));
  return program;
}

}  // namespace attune::opencl
