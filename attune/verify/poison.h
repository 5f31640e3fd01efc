// The pattern of memory that was never written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace attune {

// Bytes F5 FF F5 FF ...: a NaN in f64, f32, f16 and bf16 alike, so that a candidate that reads out
// of bounds spoils its own result. In f8, every second byte is a NaN and the others are far beyond
// any input: -208 and -20480. Integers have no NaN: bytes of i8 are -11 and -1, and i32 is -655371,
// which is seen because results are exact.
inline constexpr uint16_t kPoisonWord = 0xFFF5;
constexpr std::byte PoisonByte(size_t offset_bytes) {
  return std::byte{static_cast<uint8_t>(offset_bytes % 2 == 0 ? kPoisonWord : kPoisonWord >> 8)};
}

void FillWithPoison(std::span<std::byte> memory);

// Offset of the first byte that is not poison any more, or memory.size(). `memory` starts at an
// even offset.
size_t FindSpoiled(std::span<const std::byte> memory);

}  // namespace attune
