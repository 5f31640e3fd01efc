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
  uint64_t number = 0;         // Number of the launch.
  std::filesystem::path path;  // The kernel file.
  uint64_t data_bytes = 0;     // Size of its buffers at the launch.
  uint64_t packed_bytes = 0;   // Size of all files.
  std::vector<std::string> notes;
};

struct RefusedLaunch {
  std::string kernel;  // Empty: of the process.
  std::string reason;
};

struct CaptureReport {
  std::vector<WrittenKernel> written;
  std::vector<RefusedLaunch> refused;        // Each reason of a kernel once.
  std::map<std::string, uint64_t> launches;  // Per kernel, in processes that ended by themselves.
};

// Writes the kernel file of `launch`, its sources and its data into a new folder of `out`, which is
// created if absent: OUT/NAME/NAME.json, or NAME-2 if NAME exists. The folder appears complete or
// not at all, readable by its user alone. kUnsupported if a kernel file cannot express the launch.
Result<WrittenKernel> WriteCapture(const CapturedLaunch& launch, const std::filesystem::path& out);

// WriteCapture for every launch in the folder `spool`; equal launches are written once. The report
// lists the error of a launch; the others are still written.
CaptureReport WriteCaptures(const std::filesystem::path& spool, const std::filesystem::path& out);

}  // namespace attune::capture
