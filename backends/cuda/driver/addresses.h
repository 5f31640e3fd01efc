// Device addresses as libraries take them.
#pragma once

#include <cstddef>

#include "attune/device/device.h"

namespace attune::cuda {

// Handles of CUDA buffers are addresses.
inline void* AddressOf(BufferView view) {
  return static_cast<std::byte*>(view.handle) + view.offset_bytes;
}

// The same, to count bytes from.
inline std::byte* BytesAt(BufferView view) { return static_cast<std::byte*>(AddressOf(view)); }

}  // namespace attune::cuda
