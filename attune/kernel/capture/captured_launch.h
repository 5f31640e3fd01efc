// A launch of a user's kernel: its source, its inputs and its outputs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attune/base/status.h"
#include "attune/kernel/capture/spool_format.h"

namespace attune::capture {

struct CapturedArgument {
  SpoolArgument told;
  std::string name;   // Empty if unknown.
  std::string type;   // "float*", empty if unknown.
  std::string value;  // Bytes of a scalar.
  // Content of a buffer that is no earlier argument; borrowed.
  std::string_view before;
  std::optional<std::string_view> after;  // Absent: unchanged.
};

struct CapturedLaunch {
  std::string language;  // "opencl" or "cuda".
  std::string function;
  std::string source;  // Empty: the program has none.
  std::string binary;  // Then the loaded binary, or empty.
  std::string options;
  std::string device;
  std::string folder;
  uint64_t number = 0;  // Index among the launches of its kernel, from 1.
  SpoolGeometry geometry;
  std::vector<CapturedArgument> arguments;
  std::vector<std::pair<std::string, std::string>> headers;  // Name and text.
};

// The launch in `bytes`, a file of docs/formats/launch_spool.md, which it borrows. kDataLoss with
// the reason if it is invalid, most often because it is truncated.
Result<CapturedLaunch> ReadLaunch(std::string_view bytes);

// A hash of the properties that distinguish launches: code, geometry, scalars and buffer sizes.
uint64_t ShapeOf(const CapturedLaunch& launch);

}  // namespace attune::capture
