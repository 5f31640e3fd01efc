// Checks the operands that callers pass to devices with buffer handles instead of addresses.
#pragma once

#include <cstddef>
#include <string>

#include "attune/base/status.h"

namespace attune {

// How a call uses a buffer of its caller.
struct BufferUse {
  std::string name;        // The operand, or the field of attune_arguments: "a", "workspace".
  size_t least_bytes = 0;  // From the start of the buffer.
  bool is_read = false;
  bool is_written = false;
};

// A second interface of devices that take handles. Thread-safe.
class CallerHandles {
 public:
  virtual ~CallerHandles() = default;

  // Checks that a call on this device can use `handle` as `use` says. kInvalidArgument names the
  // field, the value and the accepted values. Runs for every operand of every call and costs less
  // than 0.2 us. Rejects an address that never was a handle without a fault, even if nothing is
  // mapped there.
  virtual Status CheckHandle(const void* handle, const BufferUse& use) const = 0;
};

}  // namespace attune
