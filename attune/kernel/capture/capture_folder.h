// Kernel files made of the launches that a program left behind.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "attune/base/status.h"
#include "attune/kernel/capture/captured_launch.h"

namespace attune::capture {

struct WrittenKernel {
  std::string kernel;          // Its function.
  uint64_t number = 0;         // Of the launch.
  std::filesystem::path path;  // Of the kernel file.
  uint64_t data_bytes = 0;     // Of its buffers, as the launch had them.
  uint64_t packed_bytes = 0;   // Of all files.
  std::vector<std::string> notes;
};

struct RefusedLaunch {
  std::string kernel;  // Empty: of the process.
  std::string reason;
};

struct CaptureReport {
  std::vector<WrittenKernel> written;
  std::vector<RefusedLaunch> refused;        // Each reason of a kernel once.
  std::map<std::string, uint64_t> launches;  // Of each kernel, in processes that came to their end.
};

// Writes the kernel file of `launch` and what belongs to it into a new folder of `out`, which is
// made if it is not there: OUT/NAME/NAME.json, and NAME-2 where there is a NAME. The folder appears
// with all of it or not at all, readable by its user alone. kUnsupported if a kernel file cannot
// say the launch.
Result<WrittenKernel> WriteCapture(const CapturedLaunch& launch, const std::filesystem::path& out);

// WriteCapture of every launch in the folder `spool`, those that are alike once. What goes wrong
// with one is told in the report and hinders no other.
CaptureReport WriteCaptures(const std::filesystem::path& spool, const std::filesystem::path& out);

}  // namespace attune::capture
