// A launch of somebody's kernel: what it was compiled from, what it was given, what it wrote.
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
  std::string name;   // Empty where nobody says it.
  std::string type;   // "float*", empty where nobody says it.
  std::string value;  // Bytes of a scalar.
  // Of a buffer that is no earlier argument; borrowed.
  std::string_view before;
  std::optional<std::string_view> after;  // Absent: unchanged.
};

struct CapturedLaunch {
  std::string language;  // "opencl" or "cuda".
  std::string function;
  std::string source;  // Empty: the program has none.
  std::string binary;  // Then what was loaded, or nothing.
  std::string options;
  std::string device;
  std::string folder;
  uint64_t number = 0;  // Among the launches of its kernel, from 1.
  SpoolGeometry geometry;
  std::vector<CapturedArgument> arguments;
  std::vector<std::pair<std::string, std::string>> headers;  // Name and text.
};

// The launch in `bytes`, a file of docs/formats/launch_spool.md, which it borrows. kDataLoss with
// what is wrong, for one that is cut off above all.
Result<CapturedLaunch> ReadLaunch(std::string_view bytes);

// A hash of what makes launches distinct: code, geometry, scalars and sizes of buffers.
uint64_t ShapeOf(const CapturedLaunch& launch);

}  // namespace attune::capture
