#include "attune/kernel/multiprocessor.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace attune::kernel {
namespace {

constexpr int64_t kKib = 1024;
constexpr int kRegisters = 65536;  // The same for every multiprocessor.
constexpr int kWarp = 32;
constexpr int kRegistersOfWarp = 256;  // A warp gets a multiple of this.

constexpr Multiprocessor kMultiprocessors[] = {
    {"sm_60", 2048, 32, 65536, 64 * kKib, 48 * kKib, "Tesla P100", 56},
    {"sm_61", 2048, 32, 65536, 96 * kKib, 48 * kKib, "TITAN Xp", 30},
    {"sm_62", 2048, 32, 32768, 64 * kKib, 48 * kKib, "Jetson TX2", 2},
    {"sm_70", 2048, 32, 65536, 96 * kKib, 96 * kKib, "Tesla V100", 80},
    {"sm_72", 2048, 32, 65536, 96 * kKib, 96 * kKib, "Jetson AGX Xavier", 8},
    {"sm_75", 1024, 16, 65536, 64 * kKib, 64 * kKib, "Tesla T4", 40},
    {"sm_80", 2048, 32, 65536, 164 * kKib, 163 * kKib, "A100", 108},
    {"sm_86", 1536, 16, 65536, 100 * kKib, 99 * kKib, "GeForce RTX 3090", 82},
    {"sm_87", 1536, 16, 65536, 164 * kKib, 163 * kKib, "Jetson AGX Orin", 16},
    {"sm_89", 1536, 24, 65536, 100 * kKib, 99 * kKib, "GeForce RTX 4090", 128},
    {"sm_90", 2048, 32, 65536, 228 * kKib, 227 * kKib, "H100 SXM5", 132},
};

int64_t RoundUp(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

bool IsFromAmpereOn(const Multiprocessor& multiprocessor) { return multiprocessor.arch >= "sm_80"; }

// Registers are divided among the partitions of a multiprocessor, which have warps each.
int PartitionsOf(const Multiprocessor& multiprocessor) {
  return multiprocessor.arch == "sm_60" ? 2 : 4;
}

// A block may start only if its warps, in equal numbers in each partition, have their registers.
bool FitsByRegisters(int warps, int64_t registers_of_warp, int partitions, int most) {
  return registers_of_warp * RoundUp(warps, partitions) <= most;
}

int RoomByRegisters(const BlockNeeds& needs, const Multiprocessor& multiprocessor) {
  if (needs.registers > kMostRegistersOfThread) return 0;
  const int64_t of_warp = RoundUp(int64_t{needs.registers} * kWarp, kRegistersOfWarp);
  if (of_warp == 0) return BlockRoom::kNoLimit;
  const int warps = static_cast<int>(RoundUp(needs.threads, kWarp) / kWarp);
  const int partitions = PartitionsOf(multiprocessor);
  // Code for one Pascal GPU has to start on the others, which have four partitions.
  if (!FitsByRegisters(warps, of_warp, std::max(partitions, 4), multiprocessor.block_registers)) {
    return 0;
  }
  const int64_t warps_with_room = kRegisters / partitions / of_warp * partitions;
  return static_cast<int>(warps_with_room / warps);
}

int RoomBySharedMemory(const BlockNeeds& needs, const Multiprocessor& multiprocessor) {
  // The driver keeps some of it of every block.
  const int64_t reserved_bytes = IsFromAmpereOn(multiprocessor) ? kKib : 0;
  const int64_t unit_bytes = IsFromAmpereOn(multiprocessor) ? 128 : 256;
  const int64_t bytes = RoundUp(needs.shared_bytes + reserved_bytes, unit_bytes);
  if (bytes == 0) return BlockRoom::kNoLimit;
  if (bytes > multiprocessor.block_shared_bytes + reserved_bytes) return 0;
  return static_cast<int>(multiprocessor.shared_bytes / bytes);
}

}  // namespace

std::span<const Multiprocessor> Multiprocessors() { return kMultiprocessors; }

const Multiprocessor* FindMultiprocessor(std::string_view arch) {
  const auto* const found = std::ranges::find_if(kMultiprocessors, [&](const auto& each) {
    return arch == each.arch ||
           (arch.starts_with(each.arch) && arch.substr(each.arch.size()) == "a");
  });
  return found == std::end(kMultiprocessors) ? nullptr : found;
}

int BlockRoom::blocks() const {
  return std::min({by_threads, by_registers, by_shared_memory, by_blocks});
}

std::string BlockRoom::limited() const {
  std::vector<std::string_view> words;
  const std::pair<int, std::string_view> limits[] = {{by_threads, "threads"},
                                                     {by_registers, "registers"},
                                                     {by_shared_memory, "shared memory"},
                                                     {by_blocks, "blocks"}};
  for (const auto& [room, word] : limits) {
    if (room == blocks()) words.push_back(word);
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

BlockRoom RoomFor(const BlockNeeds& needs, const Multiprocessor& multiprocessor) {
  BlockRoom room;
  const int warps = static_cast<int>(RoundUp(needs.threads, kWarp) / kWarp);
  room.by_threads =
      needs.threads > kMostThreadsOfBlock ? 0 : multiprocessor.threads / kWarp / warps;
  room.by_registers = RoomByRegisters(needs, multiprocessor);
  room.by_shared_memory = RoomBySharedMemory(needs, multiprocessor);
  room.by_blocks = multiprocessor.blocks;
  return room;
}

}  // namespace attune::kernel
