// Devices whose operands are handles of buffers, not addresses: what callers pass is checked.
#pragma once

#include <cstddef>
#include <string_view>

#include "attune/base/status.h"

namespace attune {

// What a call does with a buffer of its caller.
struct BufferUse {
  std::string_view name;   // The field of attune_arguments: "a", "workspace".
  size_t least_bytes = 0;  // From the start of the buffer.
  bool is_read = false;
  bool is_written = false;
};

// A second interface of devices that take handles. Thread-safe.
class CallerHandles {
 public:
  virtual ~CallerHandles() = default;

  // Whether `handle` is a buffer that a call on this device can use so. kInvalidArgument names the
  // field, the value and what the device takes. Called for every operand of every call: costs less
  // than 0.2 us. An address that never was a handle is recognised without a fault, also where
  // nothing is mapped.
  virtual Status CheckHandle(const void* handle, const BufferUse& use) const = 0;
};

}  // namespace attune
