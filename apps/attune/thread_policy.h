// How idle threads of the libraries wait: asleep, not spinning. Two thread runtimes in one process
// disturb each other for as long as the idle one spins, so the policy is set once for every process
// that tunes or serves, and is part of the recorded environment.
#pragma once

namespace attune {

// Sets OMP_WAIT_POLICY=passive and OPENBLAS_THREAD_TIMEOUT=20 unless the user set them, for this
// process and its children. A runtime that is linked into the program read its settings before
// main() began; then the program starts itself again, once. Call first in main(), before any thread
// exists.
void SetThreadWaitPolicy(char** argv);

}  // namespace attune
