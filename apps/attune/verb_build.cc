// attune build: compiles what problems need on a GPU that need not be here.

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "apps/attune/json_text.h"
#include "apps/attune/problem_argument.h"
#include "apps/attune/table.h"
#include "apps/attune/verbs.h"
#include "attune/compile/builder.h"
#include "attune/runtime/compile_place.h"

namespace attune {
namespace {

constexpr double kNsPerMs = 1e6;

struct BuildOptions {
  ProblemSelection selection;
  std::string target;
  bool json = false;
};

enum class BuildState { kBuilt, kKept, kLeftOut, kFailed };

std::string_view Name(BuildState state) {
  switch (state) {
    case BuildState::kBuilt:
      return "built";
    case BuildState::kKept:
      return "kept";
    case BuildState::kLeftOut:
      return "left out";
    case BuildState::kFailed:
      return "failed";
  }
  return "";
}

// What became of one kernel for one problem.
struct BuildRow {
  const Solver* solver = nullptr;
  std::string problem;
  BuildState state = BuildState::kFailed;
  std::string config;  // Empty if left out.
  Status why;          // It is left out or failed.
  size_t size_bytes = 0;
  int64_t build_ns = 0;
};

// Builds the default of `solver`.
BuildRow BuildOne(Builder& builder, const Solver& solver, const Problem& problem,
                  const Target& target) {
  BuildRow row;
  row.solver = &solver;
  row.problem = Text(problem);
  row.why = solver.IsApplicable(problem, target);
  if (!row.why.ok()) {
    row.state = BuildState::kLeftOut;
    return row;
  }
  const Result<Config> config = solver.DefaultConfig(problem, target);
  if (!config.ok()) {
    row.why = config.error();
    return row;
  }
  row.config = Text(*config);
  const BuildOutcome outcome = builder.Build({&solver, problem, *config}, target);
  if (outcome.failure() != nullptr) {
    row.why = Unsupported(outcome.failure()->message);
    return row;
  }
  row.state = outcome.from_cache ? BuildState::kKept : BuildState::kBuilt;
  row.size_bytes = outcome.artifact()->bytes.size();
  row.build_ns = outcome.build_ns;
  return row;
}

std::vector<BuildRow> BuildAll(const CompilePlace& place,
                               const std::vector<TaggedProblem>& problems, Builder& builder) {
  std::vector<BuildRow> rows;
  for (const TaggedProblem& tagged : problems) {
    for (const auto& solver : place.backend->solvers()) {
      const SolverTraits& traits = solver->traits();
      if (!traits.compiles || traits.operator_name != OperatorName(tagged.problem)) continue;
      rows.push_back(BuildOne(builder, *solver, tagged.problem, place.target));
    }
  }
  return rows;
}

Json JsonOf(const Target& target, const std::vector<BuildRow>& rows) {
  Json builds = Json::array();
  for (const BuildRow& row : rows) {
    builds.push_back({{"problem", row.problem},
                      {"solver", row.solver->id().name},
                      {"version", row.solver->id().version},
                      {"state", Name(row.state)},
                      {"config", row.config},
                      {"reason", row.why.message()},
                      {"size_bytes", row.size_bytes},
                      {"build_ns", row.build_ns}});
  }
  return {{"target", Text(target)}, {"builds", std::move(builds)}};
}

void PrintRows(const std::vector<BuildRow>& rows, Application& application) {
  Table table({{"problem", Column::Align::kLeft, Column::Fit::kBelow},
               {"solver"},
               {"state"},
               {"bytes", Column::Align::kRight},
               {"ms", Column::Align::kRight},
               {"config, or why not", Column::Align::kLeft, Column::Fit::kCut}});
  for (const BuildRow& row : rows) {
    const bool is_there = row.state == BuildState::kBuilt || row.state == BuildState::kKept;
    const double build_ms = static_cast<double>(row.build_ns) / kNsPerMs;
    table.AddRow({row.problem, Text(row.solver->id()), std::string(Name(row.state)),
                  is_there ? std::to_string(row.size_bytes) : "-",
                  row.state == BuildState::kBuilt ? fmt::format("{:.0f}", build_ms) : "-",
                  Printable(is_there ? row.config : row.why.message())},
                 row.state == BuildState::kLeftOut ? Colour::kDim : Colour::kPlain);
  }
  application.out().Print(table.Render(application.out().screen(), application.out().width()));
}

// Ok if anything is there, else why not: a compiler that is missing before all else.
Status CheckAnyIsThere(const std::vector<BuildRow>& rows, const std::string& target) {
  const auto is_missing = [](const BuildRow& row) {
    return row.why.code() == StatusCode::kUnavailable;
  };
  if (std::any_of(rows.begin(), rows.end(), [](const BuildRow& row) { return row.why.ok(); })) {
    return Status::Ok();
  }
  const auto missing = std::find_if(rows.begin(), rows.end(), is_missing);
  return Unsupported(fmt::format("No kernel was built for '{}'.{}{}", target,
                                 missing == rows.end() ? "" : " ",
                                 missing == rows.end() ? "" : missing->why.message()));
}

Result<int> RunBuild(Application& application, const BuildOptions& options) {
  ATTUNE_ASSIGN_OR_RETURN(const CompilePlace place, FindCompilePlace(options.target));
  ATTUNE_ASSIGN_OR_RETURN(const std::vector<TaggedProblem> problems,
                          Resolve(application, options.selection));
  const OpenedKernelCache cache = OpenDefaultKernelCache();
  if (!cache.kept.ok()) application.err().Print(cache.kept.message() + "\n");
  Builder builder(*cache.cache);
  const std::vector<BuildRow> rows = BuildAll(place, problems, builder);
  if (options.json) {
    application.out().Print(Dump(JsonOf(place.target, rows)));
  } else if (!rows.empty()) {
    PrintRows(rows, application);
  }
  ATTUNE_RETURN_IF_ERROR(CheckAnyIsThere(rows, options.target));
  const bool is_whole = std::none_of(rows.begin(), rows.end(), [](const BuildRow& row) {
    return row.state == BuildState::kFailed;
  });
  return is_whole ? kExitDone : kExitPartly;
}

}  // namespace

void AddBuildVerb(CLI::App& program, Invocation& invocation) {
  auto options = std::make_shared<BuildOptions>();
  CLI::App* verb =
      AddVerb(program, "build", "Compile kernels for a GPU that need not be here, and run nothing",
              "  attune build --target gfx90a --problem 'gemm@1{m=512,n=512,k=512}'\n"
              "  attune build --target sm_90 --tag resnet50 --json");
  AddSelectionOptions(*verb, options->selection);
  verb->add_option("--target", options->target, "What compilers call the GPU: gfx90a, sm_90")
      ->required()
      ->type_name("ARCH");
  AddJsonFlag(*verb, options->json);
  verb->callback([options, &invocation] {
    invocation.run = [options](Application& application) {
      return RunBuild(application, *options);
    };
  });
}

}  // namespace attune
