// An evaluator whose only backend is the fake one, scripted through the environment.

#include <cstdio>
#include <utility>

#include "attune/tuner/evaluation_server.h"
#include "backends/fake/fake_backend.h"

int main(int argument_count, char** arguments) {
  const auto script = attune::FakeScriptFromEnvironment();
  if (!script.ok()) {
    std::fprintf(stderr, "%s\n", script.error().message().c_str());
    return 2;
  }
  attune::BackendList backends;
  backends.push_back(attune::MakeFakeBackend(*script));
  return attune::ServeEvaluations(attune::kEvaluationSocketFd, backends,
                                  {arguments + 1, arguments + argument_count});
}
