// How many cores this process may keep busy.
#pragma once

#include <filesystem>
#include <string_view>

#include "attune/base/process_variables.h"

namespace attune {

// By the affinity mask and by the quota of the cgroup, whichever is less; at least 1.
int UsableCores();

// By the affinity mask alone: how many threads libraries start that nobody has told a number.
int CoresInAffinityMask();

// Cores worth of time that the cgroups (v2 and v1) of this process grant, rounded up; 0 means no
// limit. `membership` is the content of /proc/self/cgroup and `root` the folder where cgroups are
// mounted.
int CoresGrantedByCgroup(const std::filesystem::path& root, std::string_view membership);

// Threads that the user allows the BLAS of a program, which attune stands for: the smallest of
// OPENBLAS_NUM_THREADS, GOTO_NUM_THREADS, BLIS_NUM_THREADS and MKL_NUM_THREADS that is set, else
// OMP_NUM_THREADS (its first number); never more than OMP_THREAD_LIMIT. 0: as many as it likes.
int ThreadsAllowedBy(const ProcessVariables& variables);

}  // namespace attune
