// The room that the limits of this process leave: threads, address space, memory, descriptors,
// system calls.
// Needs the C library alone, because preload libraries use it. Allocates no heap memory, because
// callers ask when none is left.
#pragma once

#include <cstdint>

namespace attune {

// The room without a limit.
inline constexpr uint64_t kUnlimitedRoom = UINT64_MAX;

// The folders to read. Tests pass their own.
struct RoomSources {
  const char* proc = "/proc";
  const char* cgroups = "/sys/fs/cgroup";  // Version 1, version 2 or both.
};

// The number of threads and processes that may still start. Limited by the pids cgroups of this
// process and their ancestors, RLIMIT_NPROC and the system's threads-max. 0 if the system does not
// report its usage. RLIMIT_NPROC counts for root, too, although the kernel exempts root.
uint64_t ThreadRoom(const RoomSources& sources = {});

// Bytes by which the address space may grow under RLIMIT_AS and RLIMIT_DATA, and under
// RLIMIT_MEMLOCK if mlockall(MCL_FUTURE) locks what is mapped. 0 if a limit is set and the system
// does not report the usage.
uint64_t AddressRoom(const RoomSources& sources = {});

// True if RLIMIT_AS or RLIMIT_DATA is set. Takes two system calls.
bool HasAddressLimit();

// Bytes that the memory cgroups of this process and their ancestors leave. Inactive file caches
// count as free.
uint64_t MemoryRoom(const RoomSources& sources = {});

// True if the kernel ends every process of a memory cgroup of this process together when its memory
// runs out (memory.oom.group of version 2), as in containers of Kubernetes, or if that is unknown.
bool EndsTogether(const RoomSources& sources = {});

// True if `count` more files can be open at the same time. Opens and closes them. False for more
// than 64.
bool HasDescriptors(int count);

// True if this thread has got its first filter of system calls (seccomp) since this library was
// loaded. A filter may end the process when attune next opens a file or starts a thread, so attune
// then begins nothing new. False if there was a filter from the start, as in a container: the
// kernel does not report further ones. Takes one system call, prctl, which a filter can forbid,
// too. Keeps errno.
bool HasNewCallFilter();

// ---- limits for attune in a host program -------------------------------------------------------

// True if `count` threads are at most a quarter of `room` and leave kThreadReserve free.
inline constexpr uint64_t kThreadReserve = 32;
constexpr bool MayTakeThreads(uint64_t count, uint64_t room) {
  return count == 0 || (room >= count + kThreadReserve && room / 4 >= count);
}

// Libraries and threads reserve address space that they never touch: about 470 MB on two cores.
inline constexpr uint64_t kAddressReserveBytes = uint64_t{4} << 30;
// Compilers within libraries (oneDNN's, libxsmm's) do not check for failed allocations.
inline bool MayCompileInMemory() { return AddressRoom() >= kAddressReserveBytes; }
// A runtime with its libraries takes about 30 MB of memory.
inline constexpr uint64_t kMemoryReserveBytes = uint64_t{256} << 20;
// Files that are open at one time while a library with its dependencies, or a database, loads.
inline constexpr int kDescriptorReserve = 8;

// The scarce resource for a message, such as "address space (ulimit -v, -d or -l)"; null if there
// is none. While one is scarce, attune loads no library.
const char* ScarceForLoading(const RoomSources& sources = {});

}  // namespace attune
