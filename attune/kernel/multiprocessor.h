// The number of blocks of a kernel that fit on a multiprocessor of an NVIDIA GPU at a time, by the
// compute capabilities in the CUDA C++ Programming Guide. No device is needed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "attune/base/status.h"

namespace attune::kernel {

inline constexpr int kMostThreadsOfBlock = 1024;
inline constexpr int kMostRegistersOfThread = 255;

// CUDA C++ Programming Guide, "Technical Specifications per Compute Capability", and the number of
// multiprocessors of one well-known GPU.
struct Multiprocessor {
  std::string_view arch;  // "sm_90"
  int threads = 0;
  int blocks = 0;
  int block_registers = 0;         // Limit for one block.
  int64_t shared_bytes = 0;        // For all blocks together.
  int64_t block_shared_bytes = 0;  // Limit for one block; above 48 KiB by opt-in.
  std::string_view gpu;
  int count = 0;
};
std::span<const Multiprocessor> Multiprocessors();
// Also of a variant, such as sm_90a; null if it is not known here.
const Multiprocessor* FindMultiprocessor(std::string_view arch);

// Resources of one block of a kernel.
struct BlockNeeds {
  int threads = 1;           // 1 to kMostThreadsOfBlock.
  int registers = 0;         // Per thread; 0: not known, and no limit.
  int64_t shared_bytes = 0;  // Static and dynamic, without the driver's reserve.
};

// Number of blocks that fit, by each limit; kNoLimit without one.
struct BlockRoom {
  static constexpr int kNoLimit = 1 << 30;

  int by_threads = kNoLimit;
  int by_registers = kNoLimit;
  int by_shared_memory = kNoLimit;
  int by_blocks = kNoLimit;

  int blocks() const;  // The least of them.
  // The binding limits: "registers, shared memory".
  std::string limited() const;
};
BlockRoom RoomFor(const BlockNeeds& needs, const Multiprocessor& multiprocessor);

}  // namespace attune::kernel
