// The child's side of the child protocol: executes what the parent asks for on one device.
#pragma once

#include "attune/solver/backend.h"

namespace attune {

// Says that it listens and serves `socket_fd` until the parent closes it, computing with
// `backends`. Returns the exit status for main(): 0 after an orderly end.
int ServeEvaluations(int socket_fd, const BackendList& backends);

// The descriptor at which a spawned child finds its end of the socket pair.
inline constexpr int kEvaluationSocketFd = 3;

}  // namespace attune
