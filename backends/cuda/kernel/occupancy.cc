#include "backends/cuda/kernel/occupancy.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "attune/kernel/multiprocessor.h"
#include "attune/kernel/plan_launches.h"
#include "backends/cuda/kernel/instances.h"

namespace attune::cuda {
namespace {

// The driver's share of every block's shared memory.
constexpr int64_t kReservedSharedBytes = 1024;

// The architectures for which it is known if sections of shared memory include that share.
constexpr std::pair<std::string_view, bool> kHasReserveInSections[] = {{"sm_80", false},
                                                                       {"sm_90", true}};

struct KnownArch {
  const kernel::Multiprocessor* multiprocessor;
  bool has_reserve_in_sections;
};

std::optional<KnownArch> Find(std::string_view arch) {
  const kernel::Multiprocessor* const found = kernel::FindMultiprocessor(arch);
  for (const auto& [known, has_reserve] : kHasReserveInSections) {
    if (found != nullptr && found->arch == known) return KnownArch{found, has_reserve};
  }
  return std::nullopt;
}

int64_t FixedSharedBytes(const CubinKernel& kernel, const KnownArch& arch) {
  const auto bytes = static_cast<int64_t>(kernel.section_bytes);
  return arch.has_reserve_in_sections ? bytes - std::min(bytes, kReservedSharedBytes) : bytes;
}

// Nothing where the number is unknown. kUnsupported, with the reason, if not even one block has
// room.
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
  const auto known = Find(arch);
  if (!known.has_value()) {
    return Unsupported(fmt::format("Nothing is known here of multiprocessors of '{}'.", arch));
  }
  if (kernel.most_threads > 0 && block.threads > kernel.most_threads)
    return Occupancy{0, "threads"};
  const kernel::BlockRoom room =
      kernel::RoomFor({block.threads, kernel.registers,
                       FixedSharedBytes(kernel, *known) + block.dynamic_shared_bytes},
                      *known->multiprocessor);
  return Occupancy{room.blocks(), room.limited()};
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
  const auto known = Find(arch);
  if (!known.has_value()) return launches;
  for (ObservedLaunch& launch : launches) {
    const std::optional<CubinKernel> found =
        FindKernel(cubin.bytes, SymbolOf(cubin.bytes, launch.name));
    if (!found.has_value()) continue;
    const Result<Occupancy> room =
        OccupancyOf(*found, {static_cast<int>(launch.threads), launch.shared_bytes}, arch);
    if (room.ok()) launch.blocks_per_multiprocessor = room->blocks;
    launch.registers = found->registers;
    launch.shared_bytes += FixedSharedBytes(*found, *known);
  }
  return launches;
}

}  // namespace attune::cuda
