// A buffer of a captured launch as an operand of a kernel file.
#pragma once

#include <string>
#include <string_view>

#include "attune/base/data_type.h"
#include "attune/base/status.h"

namespace attune::capture {

// A buffer that a launch changed from `before` to `after`, or left as it was.
struct CapturedBuffer {
  std::string name;
  std::string type;  // Type of the elements; empty if unknown.
  bool is_written = false;
  bool is_const = false;  // False also if it is unknown whether it may be written.
  std::string_view before;
  std::string_view after;  // REQUIRES: as long as `before`.
};

struct CapturedOperand {
  DataType type = DataType::kF32;
  bool is_read_only = false;
  bool is_exact = false;  // Compared bit for bit, because attune compares no values of its type.
  // As the type has them; both padded with zeros if it is exact.
  std::string before;
  std::string after;
  size_t not_finite = 0;  // Elements that the launch left as they were and that are 0 in both now.
  double largest = 0;     // Largest finite |after|.
};

// kUnsupported if the launch wrote infinity or NaN, which cannot be compared.
Result<CapturedOperand> MakeOperand(const CapturedBuffer& buffer);

}  // namespace attune::capture
