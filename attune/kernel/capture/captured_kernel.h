// The kernel file that stands for a captured launch, with its sources and its data.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "attune/base/status.h"
#include "attune/kernel/capture/captured_launch.h"

namespace attune::capture {

struct CapturedKernel {
  std::string json;                          // In the format of docs/formats/kernel_file.md.
  std::map<std::string, std::string> files;  // That it names, by path from its folder.
  std::vector<std::string> notes;            // What whoever tunes it should know.
};

// The kernel `name` that does what `launch` did, with what it was given, and has to write what that
// wrote. kUnsupported with the reason if a kernel file cannot say it.
Result<CapturedKernel> MakeCapturedKernel(const CapturedLaunch& launch, const std::string& name);

// "sgemm-nn" of "Sgemm NN": what a kernel may be called.
std::string KernelNameOf(const std::string& function);

}  // namespace attune::capture
