// One launch of OpenCL that is stored: what its buffers hold is copied before and behind it.
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
// Of the program that its kernel is in, and its options.
uint64_t CodeOf(const ClLaunchCall& call);

// Not thread-safe: one launch at a time is stored. Functions return what hinders, in words, or
// nothing. The order is Look, Begin, the launch itself, End.
class ClLaunch {
 public:
  explicit ClLaunch(const ClLaunchCall& call) : call_(call) {}

  // Learns what the launch is given; nothing is copied.
  std::string Look();
  // Of the geometry, the scalars and the sizes: what makes launches of a kernel distinct.
  uint64_t Shape() const;
  // What else is to be told and copied before the launch, which has not to wait for anything then.
  std::string Begin(uint64_t number);
  // Copies what is behind it. `is_changed` says whether it changed a buffer.
  std::string End(bool& is_changed);

 private:
  struct Argument {
    ClArgument given;
    SpoolArgument told;
    std::string name;
    std::string type;
    cl_mem memory = nullptr;
    // Where it lies in the buffer that it is cut out of, which may be itself.
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
