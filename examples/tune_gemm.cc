// Tunes one matrix product on this machine's processor and prints what won, with the library alone:
// no command line, records kept in memory.
//
//   tune_gemm [M N K]

#include <cstdio>
#include <cstdlib>

#include "attune/measure/clock.h"
#include "attune/record/memory_store.h"
#include "attune/solver/backend.h"
#include "attune/tuner/child_evaluator.h"
#include "attune/tuner/tuner.h"
#include "backends/host/host_backend.h"

namespace {

attune::Result<attune::TuneReport> TuneGemm(const attune::Problem& problem) {
  // Where: the processor, with every library that is installed.
  const auto backend = attune::MakeHostBackend();
  ATTUNE_ASSIGN_OR_RETURN(const auto device, backend->Open("cpu"));

  // How: candidates run in child processes, so that one that crashes costs one trial.
  attune::ChildOptions children;
  ATTUNE_ASSIGN_OR_RETURN(children.program, attune::FindEvaluatorProgram());
  children.device = "cpu";
  const auto evaluator = attune::MakeChildEvaluator(children);

  attune::MemoryStore store;
  attune::SteadyClock clock;
  attune::TunerParts parts;
  parts.solvers = &backend->solvers();
  parts.target = device->target();
  parts.environment = backend->DescribeEnvironment();
  parts.store = &store;
  parts.evaluator = evaluator.get();
  parts.clock = &clock;

  attune::TuneOptions options;
  options.per_problem_ns = 2'000'000'000;
  attune::Tuner tuner(parts, options);
  return tuner.Tune(problem);
}

}  // namespace

int main(int argc, char** argv) {
  const auto extent = [&](int i) { return argc > i ? std::strtoll(argv[i], nullptr, 10) : 256; };
  const attune::Problem problem =
      attune::Normalized(attune::PackedGemm(extent(1), extent(2), extent(3)));
  if (const attune::Status status = attune::Validate(problem); !status.ok()) {
    std::fprintf(stderr, "%s\n", status.message().c_str());
    return 2;
  }
  const auto report = TuneGemm(problem);
  if (!report.ok() || !report->choice) {
    std::fprintf(stderr, "%s\n",
                 report.ok() ? "No candidate could be timed." : report.error().message().c_str());
    return 1;
  }
  const attune::Choice& choice = *report->choice;
  std::printf("%s\n%s\n%.1f us, %.2f times as fast as %s\n", attune::Text(problem).c_str(),
              attune::Text(choice.candidate).c_str(), choice.measurement.median_ns / 1e3,
              choice.speedup, attune::Text(choice.default_candidate).c_str());
  return 0;
}
