// How idle threads of the libraries wait: asleep, not spinning. Two thread runtimes in one process
// disturb each other for as long as the idle one spins, so the policy is set once for every process
// that tunes or serves, and is part of the recorded environment.
#pragma once

#include <optional>
#include <string_view>

namespace attune::host {

// The OpenMP runtime that this process has loaded by now ("libgomp.so.1"); nothing if there is
// none.
std::optional<std::string_view> LoadedOpenMp();

// Sets OMP_WAIT_POLICY=passive, OMP_PROC_BIND=false and OPENBLAS_THREAD_TIMEOUT=20 where the user
// has not set them (an empty variable counts as unset), for this process and its children. True if
// that changed anything. A runtime that is already loaded has read its settings and keeps them.
// Call while no other thread reads the environment.
bool SetThreadWaitPolicy();

// The same from within a host program, which may have loaded an OpenMP runtime before. In that case
// an unset OMP_WAIT_POLICY stays unset: set now, it would claim a policy that does not hold in this
// process, and later readers could not tell. Returns that runtime's name; nothing if the policy
// holds for all runtimes that are loaded later.
std::optional<std::string_view> SetThreadWaitPolicyInProgram();

}  // namespace attune::host
