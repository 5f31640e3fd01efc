// The kernel file of a captured launch, with its sources and its data.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "attune/base/status.h"
#include "attune/kernel/capture/captured_launch.h"

namespace attune::capture {

struct CapturedKernel {
  std::string json;                          // In the format of docs/formats/kernel_file.md.
  std::map<std::string, std::string> files;  // Files that it names, by path from its folder.
  std::vector<std::string> notes;            // Hints for tuning it.
};

// The kernel `name`, which repeats `launch` on the captured inputs and must write the captured
// outputs. kUnsupported with the reason if a kernel file cannot express it.
Result<CapturedKernel> MakeCapturedKernel(const CapturedLaunch& launch, const std::string& name);

// A valid kernel name: "sgemm-nn" for "Sgemm NN".
std::string KernelNameOf(const std::string& function);

}  // namespace attune::capture
