#include "attune/verify/poison.h"

#include <algorithm>
#include <cstring>

namespace attune {

void FillWithPoison(std::span<std::byte> memory) {
  for (size_t i = 0; i < memory.size(); ++i) memory[i] = PoisonByte(i);
}

size_t FindSpoiled(std::span<const std::byte> memory) {
  constexpr size_t kBlock = 512;
  std::byte expected[kBlock];
  FillWithPoison(expected);
  for (size_t begin = 0; begin < memory.size(); begin += kBlock) {
    const auto block = memory.subspan(begin, std::min(kBlock, memory.size() - begin));
    if (std::memcmp(block.data(), expected, block.size()) == 0) continue;
    const auto spoiled = std::mismatch(block.begin(), block.end(), expected).first;
    return begin + static_cast<size_t>(spoiled - block.begin());
  }
  return memory.size();
}

}  // namespace attune
