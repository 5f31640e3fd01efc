// attune-evaluator: the child process in which candidates run. Started by attune only; the protocol
// and the arguments are in docs/formats/child_protocol.md.

#include <sys/socket.h>

#include <csignal>
#include <cstdio>
#include <exception>

#include "attune/base/process_variables.h"
#include "attune/tuner/evaluation_server.h"
#include "runtime/places.h"

int main(int argument_count, char** arguments) try {
  attune::DropVariablesOfUser();
  // Ctrl-C reaches the whole foreground group, but it is the parent that ends a run in order.
  std::signal(SIGINT, SIG_IGN);
  // A parent that died is a write error, not a signal.
  std::signal(SIGPIPE, SIG_IGN);
  int type = 0;
  socklen_t size = sizeof(type);
  if (::getsockopt(attune::kEvaluationSocketFd, SOL_SOCKET, SO_TYPE, &type, &size) != 0) {
    std::fputs(
        "attune-evaluator: This program is started by attune to run candidates. "
        "Use 'attune tune' or 'attune run' instead.\n",
        stderr);
    return 2;
  }
  const attune::BackendList backends = attune::LazyBackends();
  return attune::ServeEvaluations(attune::kEvaluationSocketFd, backends,
                                  {arguments + 1, arguments + argument_count});
} catch (const std::exception&) {
  // The parent attributes this end to the candidate, as it does any other.
  return 1;
}
