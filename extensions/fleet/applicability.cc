// attune applicability: which solvers of a session apply to its problems.

#include <map>

#include <fmt/format.h>

#include "apps/attune/counted.h"
#include "apps/attune/json_text.h"
#include "apps/attune/session/solver_survey.h"
#include "apps/attune/table.h"
#include "extensions/fleet/fleet_verbs.h"

namespace attune {
namespace {

struct ApplicabilityOptions {
  ProblemSelection selection;
  bool json = false;
};

Json SurveyJson(const SolverSurvey& survey) {
  Json solvers = Json::array();
  for (const SolverEntry& entry : survey.table.entries) {
    solvers.push_back({{"solver", Text(entry.solver)},
                       {"operator", entry.operator_name},
                       {"dynamic", entry.dynamic},
                       {"tunable", entry.tunable},
                       {"compiles", entry.compiles},
                       {"code", entry.code}});
  }
  Json problems = Json::array();
  for (const ProblemSolvers& problem : survey.problems) {
    problems.push_back({{"problem", Text(problem.problem)}, {"solvers", problem.solvers}});
  }
  return {{"generation", survey.table.generation},
          {"changed", survey.changed},
          {"solvers", std::move(solvers)},
          {"problems", std::move(problems)}};
}

void PrintSurvey(const SolverSurvey& survey, const SessionPlace& place, Output& out) {
  std::map<std::string, int64_t> counts;
  int64_t pairs = 0;
  size_t without = 0;
  for (const ProblemSolvers& problem : survey.problems) {
    for (const std::string& solver : problem.solvers) ++counts[solver];
    pairs += static_cast<int64_t>(problem.solvers.size());
    without += problem.solvers.empty() ? 1 : 0;
  }
  Table table({{"solver"},
               {"operator"},
               {"problems", Column::Align::kRight},
               {"tunable"},
               {"dynamic"},
               {"compiles"}});
  const auto yes_no = [](bool value) { return std::string(value ? "yes" : "no"); };
  for (const SolverEntry& entry : survey.table.entries) {
    const int64_t count = counts[entry.solver.name];
    table.AddRow({Text(entry.solver), entry.operator_name, fmt::format("{}", count),
                  yes_no(entry.tunable), yes_no(entry.dynamic), yes_no(entry.compiles)},
                 count == 0 ? Colour::kDim : Colour::kPlain);
  }
  out.Print(table.Render(out.screen(), out.width()));
  out.Print(fmt::format(
      "\n{}, {} of problem and solver, {} without any; generation {} of the solvers, "
      "{} changed{}.\n",
      Counted(survey.problems.size(), "problem"), Counted(pairs, "pair"),
      Counted(without, "problem"), survey.table.generation, Counted(survey.changed, "problem"),
      place.has_device() ? "" : "; the device is not here, and was not needed"));
}

Result<int> RunApplicability(Application& application, const ApplicabilityOptions& options) {
  ATTUNE_RETURN_IF_ERROR(application.store().status());
  ATTUNE_ASSIGN_OR_RETURN(const auto problems, Resolve(application, options.selection));
  const Session& session = *application.session();
  ATTUNE_ASSIGN_OR_RETURN(const SessionPlace place, FindSessionPlace(application, session));
  ATTUNE_ASSIGN_OR_RETURN(const SolverSurvey survey,
                          SurveySolvers(application, session, place, problems));
  if (options.json) {
    application.out().Print(Dump(SurveyJson(survey)));
  } else {
    PrintSurvey(survey, place, application.out());
  }
  return kExitDone;
}

}  // namespace

void AddApplicabilityVerb(CLI::App& program, Invocation& invocation) {
  auto options = std::make_shared<ApplicabilityOptions>();
  CLI::App* verb = AddVerb(
      program, "applicability",
      "Find out which solvers apply to the problems of a session, and keep it with the session",
      "  attune applicability --session may\n"
      "  attune applicability --session may --problem 'gemm@1{m=512,n=512,k=512}' --json");
  AddSelectionOptions(*verb, options->selection, invocation);
  verb->get_option_no_throw("--session")->required();
  AddJsonFlag(*verb, options->json);
  verb->callback([options, &invocation] {
    invocation.run = [options](Application& application) {
      return RunApplicability(application, *options);
    };
  });
}

}  // namespace attune
