// What the limits of this process leave it: threads, address space, memory, descriptors. Needs the
// C library alone, because preload libraries ask, too, and no memory, because they ask when nothing
// is left.
#pragma once

#include <cstdint>

namespace attune {

// No limit was found.
inline constexpr uint64_t kUnlimitedRoom = UINT64_MAX;

// Where the system tells. Tests name folders of their own.
struct RoomSources {
  const char* proc = "/proc";
  const char* cgroups = "/sys/fs/cgroup";  // Versions 1 and 2, and both beside each other.
};

// Threads and processes that may still be started: by the pids cgroups of this process and all
// above it, RLIMIT_NPROC and the system's threads-max. 0 if the system does not tell. RLIMIT_NPROC
// counts for root, too, although the kernel exempts it.
uint64_t ThreadRoom(const RoomSources& sources = {});

// Bytes by which the address space may grow: RLIMIT_AS and RLIMIT_DATA. 0 if a limit is set and the
// system does not tell what is used of it.
uint64_t AddressRoom(const RoomSources& sources = {});

// Bytes that the memory cgroups of this process and all above it leave, caches that the system can
// give up counted as free.
uint64_t MemoryRoom(const RoomSources& sources = {});

// Whether `count` more files can be open at the same time. Opens and closes them.
bool HasDescriptors(int count);

// ---- what a guest may take of it ----------------------------------------------------------------
// The program needs its limits for itself, so attune takes nothing of what is scarce.

// Threads: `count` are a quarter of what is left at most, and at least kThreadReserve stay free.
inline constexpr uint64_t kThreadReserve = 32;
constexpr bool MayTakeThreads(uint64_t count, uint64_t room) {
  return count == 0 || (room >= count + kThreadReserve && room / 4 >= count);
}

// Libraries and threads reserve address space that they never touch: some 470 MB on two cores.
inline constexpr uint64_t kAddressReserveBytes = uint64_t{4} << 30;
// Compilers within libraries (oneDNN's, libxsmm's) do not look whether they got what they asked
// for.
inline bool MayCompileInMemory() { return AddressRoom() >= kAddressReserveBytes; }
// A run time with its libraries has some 30 MB in memory.
inline constexpr uint64_t kMemoryReserveBytes = uint64_t{256} << 20;
// Of a library that is loaded with what it links, or a database: what it has open at one time.
inline constexpr int kDescriptorReserve = 8;

// Null, or what is scarce, for a message: "address space (ulimit -v, ulimit -d)". What is scarce
// lets nothing be loaded.
const char* ScarceForLoading(const RoomSources& sources = {});

}  // namespace attune
