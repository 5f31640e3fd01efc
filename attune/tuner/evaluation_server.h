// The worker's side of the child protocol: executes the requests of the parent on one device.
#pragma once

#include <string>
#include <vector>

#include "attune/solver/backend.h"

namespace attune {

// Reports that it listens and serves `socket_fd` until the parent closes it, computing with
// `backends`. `arguments` are those of the program: nothing, or the spec of a device (`cuda:0`) and
// the text of a problem. It then opens the device before it listens, and loads and drops the
// default of the problem, so that neither a hello nor the first candidate waits for a context or
// for a library. An error of that is reported by the request that meets it. Returns the exit status
// for main(): 0 after an orderly end.
int ServeEvaluations(int socket_fd, const BackendList& backends,
                     const std::vector<std::string>& arguments);

// The descriptor of a spawned worker's end of the socket pair.
inline constexpr int kEvaluationSocketFd = 3;

}  // namespace attune
