// The child's side of the child protocol: executes what the parent asks for on one device.
#pragma once

#include <string>
#include <vector>

#include "attune/solver/backend.h"

namespace attune {

// Says that it listens and serves `socket_fd` until the parent closes it, computing with
// `backends`. `arguments` are those of the program: nothing, or the spec of a device (`cuda:0`) and
// the text of a problem. That device is opened before it listens and the default of the problem
// loaded and dropped, so that neither a hello nor the first candidate waits for a context or for a
// library; whoever cannot do that says so when it is asked. Returns the exit status for main(): 0
// after an orderly end.
int ServeEvaluations(int socket_fd, const BackendList& backends,
                     const std::vector<std::string>& arguments);

// The descriptor at which a spawned child finds its end of the socket pair.
inline constexpr int kEvaluationSocketFd = 3;

}  // namespace attune
