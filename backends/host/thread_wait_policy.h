// How idle threads of the libraries wait: asleep, not spinning. Two thread runtimes in one process
// disturb each other for as long as the idle one spins, so the policy is set once for every process
// that tunes or serves, and is part of the recorded environment.
#pragma once

namespace attune::host {

// Sets OMP_WAIT_POLICY=passive, OMP_PROC_BIND=false and OPENBLAS_THREAD_TIMEOUT=20 where the user
// has not spoken, for this process and its children. True if that changed anything. A runtime that
// is loaded already has read its settings: they stay what they were for it. Call while no other
// thread reads the environment.
bool SetThreadWaitPolicy();

}  // namespace attune::host
