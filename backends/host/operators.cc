#include "backends/host/operators.h"

#include <fmt/format.h>

namespace attune::host {

#define ATTUNE_HOST_OPERATOR(NAME, SOURCES)                                 \
  namespace NAME {                                                          \
  void AddSolvers(const OperatorResources& resources, SolverList& solvers); \
  }
#include "backends/host/operators.inc"
#undef ATTUNE_HOST_OPERATOR

void AddOperatorSolvers([[maybe_unused]] const OperatorResources& resources,
                        [[maybe_unused]] SolverList& solvers) {
#define ATTUNE_HOST_OPERATOR(NAME, SOURCES) NAME::AddSolvers(resources, solvers);
#include "backends/host/operators.inc"
#undef ATTUNE_HOST_OPERATOR
}

Environment DescribeOperators(IsaLevel level) {
  Environment environment;
#define ATTUNE_HOST_OPERATOR(NAME, SOURCES) \
  environment["library." #NAME ".build_id"] = fmt::format("{} {}", Name(level), SOURCES);
#include "backends/host/operators.inc"
#undef ATTUNE_HOST_OPERATOR
  return environment;
}

}  // namespace attune::host
