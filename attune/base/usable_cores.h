// How many cores this process may keep busy.
#pragma once

#include <filesystem>
#include <string_view>

#include "attune/base/process_variables.h"

namespace attune {

// By the affinity mask and by the quota of the cgroup, whichever is less; at least 1.
int UsableCores();

// Cores in the affinity mask: the default thread count of libraries.
int CoresInAffinityMask();

// Cores worth of time that the cgroups (v2 and v1) of this process grant, rounded up; 0 means no
// limit. `membership` is the content of /proc/self/cgroup and `root` the folder where cgroups are
// mounted.
int CoresGrantedByCgroup(const std::filesystem::path& root, std::string_view membership);

// The thread limit that the user set for the BLAS of a program, which attune replaces. The smallest
// of OPENBLAS_NUM_THREADS, GOTO_NUM_THREADS, BLIS_NUM_THREADS and MKL_NUM_THREADS that is set, else
// the first number of OMP_NUM_THREADS. Never more than OMP_THREAD_LIMIT. 0: no limit.
int ThreadsAllowedBy(const ProcessVariables& variables);

}  // namespace attune
