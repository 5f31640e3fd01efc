// A buffer of a captured launch as an operand of a kernel file.
#pragma once

#include <string>
#include <string_view>

#include "attune/base/data_type.h"
#include "attune/base/status.h"

namespace attune::capture {

// What is known of a buffer, which a launch changed from `before` to `after`, or left as it was.
struct CapturedBuffer {
  std::string name;
  std::string type;  // Of its elements; empty where nobody says it.
  bool is_written = false;
  bool is_const = false;  // Or nobody says whether it may be written.
  std::string_view before;
  std::string_view after;  // REQUIRES: as long as `before`.
};

struct CapturedOperand {
  DataType type = DataType::kF32;
  bool is_read_only = false;
  bool is_exact = false;  // Compared bit for bit, because its type is none that attune compares.
  // As the type has them; both padded with zeros if it is exact.
  std::string before;
  std::string after;
  size_t not_finite = 0;  // Elements that the launch left as they were and that are 0 in both now.
  double largest = 0;     // Of |after|, of real numbers.
};

// kUnsupported if the launch wrote what nothing can be compared with: infinity or no number.
Result<CapturedOperand> MakeOperand(const CapturedBuffer& buffer);

}  // namespace attune::capture
