// The pattern that stands for "nobody wrote here".
#pragma once

#include <cstddef>
#include <span>

namespace attune {

// Bytes F5 FF F5 FF ...: a NaN in f64, f32, f16 and bf16 alike, so that a candidate that reads
// what it should not spoils its own result.
constexpr std::byte PoisonByte(size_t offset_bytes) {
  return offset_bytes % 2 == 0 ? std::byte{0xF5} : std::byte{0xFF};
}

void FillWithPoison(std::span<std::byte> memory);

// Offset of the first byte that is not poison any more, or memory.size(). `memory` starts at an
// even offset.
size_t FindSpoiled(std::span<const std::byte> memory);

}  // namespace attune
