// One call that stores a launch from within a program, in any language of kernel files. `attune
// capture` does the same from outside. examples/own_kernel/capture_launch.cc uses it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "attune/base/status.h"
#include "attune/kernel/capture/capture_folder.h"

namespace attune::capture {

// Copies all bytes of a buffer of the device to `memory`, behind everything that was enqueued.
using BufferReader = std::function<Status(void* memory)>;

// An argument of the kernel, in its order.
struct LaunchArgument {
  enum class Kind { kBuffer, kScalar, kLocal };
  Kind kind = Kind::kScalar;
  size_t size_bytes = 0;
  std::string value;  // Bytes of a scalar.
  BufferReader read;  // Only for a buffer.
};

LaunchArgument BufferOf(size_t size_bytes, BufferReader read);
LaunchArgument LocalOf(size_t size_bytes);
template <class T>
LaunchArgument ScalarOf(const T& value) {
  return {LaunchArgument::Kind::kScalar,
          sizeof value,
          std::string(reinterpret_cast<const char*>(&value), sizeof value),
          {}};
}

struct LaunchDescription {
  std::string language = "opencl";  // Or "cuda".
  std::string function;
  std::string source;
  std::string options;          // Compiler options.
  std::vector<uint64_t> local;  // Work-items of a work-group, one to three dimensions.
  std::vector<uint64_t> groups;
  uint64_t shared_bytes = 0;
  std::vector<LaunchArgument> arguments;
};

// Reads the buffers, launches once by `launch`, reads them again and writes the kernel file into a
// new folder of `out`. A buffer that is two arguments becomes two operands. The launch is made even
// if the rest fails, unless the description is invalid or a buffer cannot be read before it.
// kInvalidArgument for an invalid description; kFailedPrecondition if the launch changed no buffer;
// kUnsupported if a kernel file cannot express the launch.
Result<WrittenKernel> CaptureLaunch(const LaunchDescription& description,
                                    const std::function<Status()>& launch,
                                    const std::filesystem::path& out);

}  // namespace attune::capture
