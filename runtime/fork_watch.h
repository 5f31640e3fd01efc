// Which process this is: the one that made the first run time, or a child that fork() made of it.
#pragma once

#include <atomic>
#include <cstdint>

namespace attune {

// How many forks lie between this process and the one that called WatchForks() first. Global
// because nobody hands anything down through a fork(). Written in a forked child alone, before
// fork() returns there.
inline constinit std::atomic<uint64_t> forks_since_watched{0};

// Counts forks of this process and its children from now on. Cheap when it has been called before.
void WatchForks();

inline uint64_t ForkGeneration() { return forks_since_watched.load(std::memory_order_relaxed); }
inline bool IsForkedChild() { return ForkGeneration() != 0; }

}  // namespace attune
