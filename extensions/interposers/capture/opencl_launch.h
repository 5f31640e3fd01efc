// One stored launch of OpenCL: its buffers are copied before and after it.
#pragma once

#include <string>
#include <vector>

#include "extensions/interposers/capture/opencl_objects.h"
#include "extensions/interposers/capture/spool_file.h"

namespace attune::capture {

// As clEnqueueNDRangeKernel has them.
struct ClLaunchCall {
  const void* caller = nullptr;
  cl_command_queue queue = nullptr;
  cl_kernel kernel = nullptr;
  cl_uint dimensions = 0;
  const size_t* offset = nullptr;
  const size_t* global = nullptr;
  const size_t* local = nullptr;
  cl_uint event_count = 0;
  const cl_event* events = nullptr;
};

// "saxpy".
std::string FunctionOf(const ClLaunchCall& call);
// A hash of the program that the kernel is in, and of its options.
uint64_t CodeOf(const ClLaunchCall& call);

// Not thread-safe: stores one launch at a time. Functions return the obstacle, in words, or an
// empty string. The order is Look, Begin, the launch itself, End.
class ClLaunch {
 public:
  explicit ClLaunch(const ClLaunchCall& call) : call_(call) {}

  // Reads the inputs of the launch; copies nothing.
  std::string Look();
  // A hash of the geometry, the scalars and the sizes, which distinguish launches of a kernel.
  uint64_t Shape() const;
  // Reads and copies the rest before the launch, which then has nothing to wait for.
  std::string Begin(uint64_t number);
  // Copies the buffers after the launch. `is_changed` becomes true if it changed a buffer.
  std::string End(bool& is_changed);

 private:
  struct Argument {
    ClArgument given;
    SpoolArgument told;
    std::string name;
    std::string type;
    cl_mem memory = nullptr;
    // The buffer that contains it, possibly itself, and its offset there.
    cl_mem parent = nullptr;
    uint64_t begin = 0;
    uint64_t hash = 0;
  };

  std::string LookAtGeometry();
  std::string LookAtArgument(cl_uint index);
  std::string LookAtBuffer(size_t index);
  std::string CheckOverlaps() const;
  std::string WaitForEarlier() const;
  bool PutProgram();
  bool PutArguments();
  SpoolFile::Reader ReaderOf(cl_mem memory) const;

  const ClLaunchCall call_;
  SpoolGeometry geometry_;
  std::vector<Argument> arguments_;
  SpoolFile file_;
};

}  // namespace attune::capture
