// The C function of attune/capture.h.

#include <string>

#include <fmt/format.h>

#include "attune/base/struct_size.h"
#include "attune/capture.h"
#include "attune/kernel/capture/capture_call.h"
#include "runtime/c_runtime.h"

namespace attune {
namespace {

using capture::LaunchArgument;
using capture::LaunchDescription;

constexpr int32_t kMostDimensions = 3;
// Kernels have fewer: what is more was never set.
constexpr size_t kMostArguments = 4096;
// Drivers take less; a larger value was never initialized.
constexpr size_t kMostScalarBytes = 65536;

Status CheckCapture(const attune_capture& given) {
  ATTUNE_RETURN_IF_ERROR(
      CheckStructSize(given.struct_size, sizeof given, "the capture", "ATTUNE_CAPTURE_INIT"));
  const bool has_arguments = given.argument_count == 0 || given.arguments != nullptr;
  if (given.function == nullptr || given.source == nullptr || given.read == nullptr ||
      given.launch == nullptr || !has_arguments) {
    return InvalidArgument(
        "A capture needs its function, its source, its arguments, and what reads and launches.");
  }
  if (given.dimensions < 1 || given.dimensions > kMostDimensions) {
    return InvalidArgument(fmt::format("The launch of {} has {} dimensions; 1 to {} are possible.",
                                       given.function, given.dimensions, kMostDimensions));
  }
  if (given.argument_count <= kMostArguments) return Status::Ok();
  return InvalidArgument(fmt::format("The launch of {} has {} arguments; {} are possible.",
                                     given.function, given.argument_count, kMostArguments));
}

// What the program's own function said.
Status Told(const char* what, const std::string& function, int code) {
  if (code == 0) return Status::Ok();
  return Unavailable(fmt::format("'{}' of the capture of {} returned {}.", what, function, code));
}

Result<LaunchArgument> ArgumentOf(const attune_capture& given, size_t index) {
  const attune_capture_argument& argument = given.arguments[index];
  switch (argument.kind) {
    case ATTUNE_CAPTURE_SCALAR: {
      if (argument.value == nullptr && argument.size_bytes > 0) break;
      if (argument.size_bytes > kMostScalarBytes) {
        return InvalidArgument(
            fmt::format("Argument {} of {} is a scalar of {} bytes; {} are possible.", index,
                        given.function, argument.size_bytes, kMostScalarBytes));
      }
      LaunchArgument scalar;
      scalar.size_bytes = argument.size_bytes;
      scalar.value.assign(static_cast<const char*>(argument.value), argument.size_bytes);
      return scalar;
    }
    case ATTUNE_CAPTURE_BUFFER:
      return capture::BufferOf(argument.size_bytes, [&given, &argument](void* memory) {
        return Told("read", given.function, given.read(given.user, &argument, memory));
      });
    case ATTUNE_CAPTURE_LOCAL:
      return capture::LocalOf(argument.size_bytes);
    default:
      return InvalidArgument(fmt::format("Argument {} of {} has the kind {}, which is none.", index,
                                         given.function, argument.kind));
  }
  return InvalidArgument(
      fmt::format("Argument {} of {} is a scalar without a value.", index, given.function));
}

Result<LaunchDescription> DescriptionOf(const attune_capture& given) {
  ATTUNE_RETURN_IF_ERROR(CheckCapture(given));
  LaunchDescription launch;
  if (given.language != nullptr) launch.language = given.language;
  if (launch.language != "opencl" && launch.language != "cuda") {
    return InvalidArgument(fmt::format("The language '{}' of {} is not opencl or cuda.",
                                       launch.language, given.function));
  }
  launch.function = given.function;
  launch.source = given.source;
  if (given.options != nullptr) launch.options = given.options;
  launch.local.assign(given.local, given.local + given.dimensions);
  launch.groups.assign(given.groups, given.groups + given.dimensions);
  launch.shared_bytes = given.shared_bytes;
  for (size_t i = 0; i < given.argument_count; ++i) {
    ATTUNE_ASSIGN_OR_RETURN(launch.arguments.emplace_back(), ArgumentOf(given, i));
  }
  return launch;
}

}  // namespace
}  // namespace attune

extern "C" attune_code attune_capture_launch(const attune_capture* capture, const char* folder,
                                             char** kernel_file) {
  return attune::Guarded([&]() -> attune::Status {
    attune::Clear(kernel_file);
    if (capture == nullptr || folder == nullptr) {
      return attune::NullArgument("attune_capture_launch");
    }
    ATTUNE_ASSIGN_OR_RETURN(const auto launch, attune::DescriptionOf(*capture));
    const auto run = [&] {
      return attune::Told("launch", launch.function, capture->launch(capture->user));
    };
    ATTUNE_ASSIGN_OR_RETURN(const auto written,
                            attune::capture::CaptureLaunch(launch, run, folder));
    if (kernel_file == nullptr) return attune::Status::Ok();
    return attune::CopyOut(written.path.string(), kernel_file);
  });
}
