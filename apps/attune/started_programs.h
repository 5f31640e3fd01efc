// The programs that this process has started and that have not ended: compilers, above all.
#pragma once

namespace attune {

// Kills those that have a process group of their own (SpawnSettings), with all that they have
// started in turn. Ctrl-C at a terminal does not reach them. Whoever waits for one of them is told
// that it was killed.
void KillStartedPrograms();

}  // namespace attune
