#include "backends/cuda/occupancy.h"

#include <cuda_occupancy.h>

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "attune/kernel/plan_launches.h"
#include "backends/cuda/instances.h"

namespace attune::cuda {
namespace {

// The same for each architecture from sm_80 on: what the driver keeps of every block's shared
// memory. Sections of sm_90 have it in them, those of sm_80 do not.
constexpr size_t kReservedSharedBytes = 1024;

struct Multiprocessor {
  std::string_view arch;
  int major;
  int minor;
  int threads;
  size_t shared_bytes;        // Of all blocks.
  size_t block_shared_bytes;  // That one block may opt for.
  bool has_reserve_in_sections;
};

// NVIDIA, CUDA C++ Programming Guide, "Compute Capabilities".
constexpr Multiprocessor kMultiprocessors[] = {
    {"sm_80", 8, 0, 2048, 167936, 166912, false},
    {"sm_90", 9, 0, 2048, 233472, 232448, true},
};
constexpr int kRegisters = 65536;
constexpr int kMostThreadsOfBlock = 1024;
constexpr size_t kUsualSharedBytes = 49152;
constexpr int kWarp = 32;

const Multiprocessor* Find(std::string_view arch) {
  const auto* const found =
      std::find_if(std::begin(kMultiprocessors), std::end(kMultiprocessors),
                   [&](const Multiprocessor& each) { return arch.starts_with(each.arch); });
  return found == std::end(kMultiprocessors) ? nullptr : found;
}

cudaOccDeviceProp PropertiesOf(const Multiprocessor& multiprocessor) {
  cudaOccDeviceProp properties;
  properties.computeMajor = multiprocessor.major;
  properties.computeMinor = multiprocessor.minor;
  properties.maxThreadsPerBlock = kMostThreadsOfBlock;
  properties.maxThreadsPerMultiprocessor = multiprocessor.threads;
  properties.regsPerBlock = properties.regsPerMultiprocessor = kRegisters;
  properties.warpSize = kWarp;
  properties.sharedMemPerBlock = kUsualSharedBytes;
  properties.sharedMemPerMultiprocessor = multiprocessor.shared_bytes;
  properties.numSms = 1;
  properties.sharedMemPerBlockOptin = multiprocessor.block_shared_bytes;
  properties.reservedSharedMemPerBlock = kReservedSharedBytes;
  return properties;
}

size_t FixedSharedBytes(const CubinKernel& kernel, const Multiprocessor& multiprocessor) {
  const auto bytes = static_cast<size_t>(kernel.section_bytes);
  return multiprocessor.has_reserve_in_sections ? bytes - std::min(bytes, kReservedSharedBytes)
                                                : bytes;
}

std::string Words(unsigned limits) {
  std::vector<std::string_view> words;
  if ((limits & OCC_LIMIT_WARPS) != 0) words.emplace_back("threads");
  if ((limits & OCC_LIMIT_REGISTERS) != 0) words.emplace_back("registers");
  if ((limits & OCC_LIMIT_SHARED_MEMORY) != 0) words.emplace_back("shared memory");
  if ((limits & OCC_LIMIT_BLOCKS) != 0) words.emplace_back("blocks");
  return fmt::format("{}", fmt::join(words, ", "));
}

// Nothing where it cannot be told. kUnsupported, with the reason, if not even one block has room.
Result<std::optional<int>> BlocksOfLaunch(const Artifact& cubin,
                                          const kernel::PlannedLaunch& launch,
                                          std::string_view arch) {
  const std::optional<CubinKernel> found =
      FindKernel(cubin.bytes, SymbolOf(cubin.bytes, launch.function));
  if (!found.has_value()) return std::optional<int>();
  int64_t threads = 1;
  for (const int64_t extent : launch.local) threads *= extent;
  const Result<Occupancy> room =
      OccupancyOf(*found, {static_cast<int>(threads), launch.shared_bytes}, arch);
  if (!room.ok()) return std::optional<int>();
  if (room->blocks > 0) return room->blocks;
  return Unsupported(fmt::format(
      "A multiprocessor of {} has no room for one block of kernel '{}': {} threads of {} "
      "registers each and {} bytes of shared memory, too much of its {}. Other configs need "
      "less.",
      arch, launch.function, threads, found->registers, found->section_bytes + launch.shared_bytes,
      room->limited));
}

}  // namespace

Result<Occupancy> OccupancyOf(const CubinKernel& kernel, const BlockShape& block,
                              std::string_view arch) {
  const Multiprocessor* const multiprocessor = Find(arch);
  if (multiprocessor == nullptr) {
    return Unsupported(fmt::format("Nothing is known here of multiprocessors of '{}'.", arch));
  }
  // The calculator does not look at launch bounds.
  const int most_threads = kernel.most_threads > 0 ? kernel.most_threads : kMostThreadsOfBlock;
  if (block.threads > most_threads) return Occupancy{0, "threads"};
  const cudaOccDeviceProp properties = PropertiesOf(*multiprocessor);
  cudaOccFuncAttributes attributes;
  attributes.maxThreadsPerBlock = most_threads;
  attributes.numRegs = kernel.registers;
  attributes.sharedSizeBytes = FixedSharedBytes(kernel, *multiprocessor);
  attributes.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
  attributes.maxDynamicSharedSizeBytes = multiprocessor->block_shared_bytes;
  cudaOccDeviceState state;
  cudaOccResult result;
  const cudaOccError code = cudaOccMaxActiveBlocksPerMultiprocessor(
      &result, &properties, &attributes, &state, block.threads,
      static_cast<size_t>(block.dynamic_shared_bytes));
  if (code != CUDA_OCC_SUCCESS) {
    return Unsupported(
        fmt::format("CUDA's calculator does not take a block of {} threads (error "
                    "{}).",
                    block.threads, static_cast<int>(code)));
  }
  return Occupancy{result.activeBlocksPerMultiprocessor, Words(result.limitingFactors)};
}

Result<std::optional<int>> BlocksOfLaunches(const Artifact& cubin, const kernel::KernelPlan& plan,
                                            std::string_view arch) {
  std::optional<int> least;
  bool is_known = true;
  for (const kernel::PlannedLaunch& launch : plan.launches) {
    ATTUNE_ASSIGN_OR_RETURN(const std::optional<int> blocks, BlocksOfLaunch(cubin, launch, arch));
    is_known = is_known && blocks.has_value();
    if (is_known) least = std::min(least.value_or(*blocks), *blocks);
  }
  return is_known ? least : std::nullopt;
}

std::vector<ObservedLaunch> LaunchesOf(const Artifact& cubin, const kernel::KernelPlan& plan,
                                       std::string_view arch) {
  std::vector<ObservedLaunch> launches = kernel::LaunchesOf(plan);
  const Multiprocessor* const multiprocessor = Find(arch);
  if (multiprocessor == nullptr) return launches;
  for (ObservedLaunch& launch : launches) {
    const std::optional<CubinKernel> found =
        FindKernel(cubin.bytes, SymbolOf(cubin.bytes, launch.name));
    if (!found.has_value()) continue;
    const Result<Occupancy> room =
        OccupancyOf(*found, {static_cast<int>(launch.threads), launch.shared_bytes}, arch);
    if (room.ok()) launch.blocks_per_multiprocessor = room->blocks;
    launch.registers = found->registers;
    launch.shared_bytes += static_cast<int64_t>(FixedSharedBytes(*found, *multiprocessor));
  }
  return launches;
}

}  // namespace attune::cuda
