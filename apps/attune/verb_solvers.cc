// attune solvers: every way to compute that this build has, and which apply to a problem.

#include <optional>

#include <fmt/format.h>

#include "apps/attune/json_text.h"
#include "apps/attune/problem_argument.h"
#include "apps/attune/table.h"
#include "apps/attune/verbs.h"
#include "attune/session/solver_table.h"
#include "attune/verify/problem_data.h"

namespace attune {
namespace {

struct SolversOptions {
  std::string problem;
  std::string device;
  std::string session;  // Its table, as it was kept.
  bool json = false;
};

// One line of the list.
struct Row {
  const Backend* backend;
  const Solver* solver;
  // With a problem only:
  Status applicable;
  uint64_t configs = 0;
  std::string first_config;
};

Row Examine(const Backend& backend, const Solver& solver, const Problem& problem,
            const Target& target) {
  Row row{&backend, &solver, solver.IsApplicable(problem, target), 0, ""};
  if (!row.applicable.ok()) return row;
  const auto space = solver.Space(problem, target);
  if (!space.ok()) {
    row.applicable = space.error();
    return row;
  }
  row.configs = space->size();
  row.first_config = Text(space->At(0));
  return row;
}

// The first usable device, which stands for the backend where none was named.
std::optional<Target> AnyTarget(const Backend& backend) {
  for (const DeviceReport& device : backend.Devices()) {
    if (device.reason.empty()) return device.target;
  }
  return std::nullopt;
}

std::vector<Row> RowsOf(const Backend& backend, const std::optional<Target>& target,
                        const std::optional<Problem>& problem) {
  std::vector<Row> rows;
  for (const auto& solver : backend.solvers()) {
    if (problem && target) {
      rows.push_back(Examine(backend, *solver, *problem, *target));
    } else if (problem) {
      rows.push_back(
          {&backend, solver.get(),
           Unavailable(fmt::format("The backend '{}' has no usable device here.", backend.name())),
           0, ""});
    } else {
      rows.push_back({&backend, solver.get(), Status::Ok(), 0, ""});
    }
  }
  return rows;
}

Result<std::vector<Row>> Collect(Application& application, const SolversOptions& options,
                                 const std::optional<Problem>& problem) {
  if (problem) ATTUNE_RETURN_IF_ERROR(ProblemData::CheckMemory(*problem));
  const BackendList& backends = application.backends().list;
  if (!options.device.empty()) {
    ATTUNE_ASSIGN_OR_RETURN(const Place place, FindPlace(backends, options.device));
    return RowsOf(*place.backend, place.target, problem);
  }
  std::vector<Row> rows;
  for (const auto& backend : backends) {
    for (Row& row : RowsOf(*backend, AnyTarget(*backend), problem)) rows.push_back(std::move(row));
  }
  return rows;
}

// True if the solver follows IEEE 754 for `problem`, or in general without one.
bool KeepsSpecialValues(const Row& row, const std::optional<Problem>& problem) {
  return problem ? row.solver->KeepsSpecialValues(*problem)
                 : row.solver->traits().ieee_special_values;
}

std::string CompilesText(const SolverTraits& traits) {
  return traits.compiles ? "yes" : traits.compiles_when_loaded ? "when loaded" : "no";
}

void AddRows(const std::vector<Row>& rows, const std::optional<Problem>& problem, Json& list) {
  for (const Row& row : rows) {
    const SolverTraits& traits = row.solver->traits();
    Json entry = {{"name", row.solver->id().name},
                  {"version", row.solver->id().version},
                  {"backend", row.backend->name()},
                  {"operator", traits.operator_name},
                  {"description", traits.description},
                  {"dynamic", traits.dynamic},
                  {"compiles", traits.compiles},
                  {"compiles_when_loaded", traits.compiles_when_loaded},
                  {"deterministic", traits.deterministic},
                  {"ieee_special_values", KeepsSpecialValues(row, problem)},
                  {"last_resort", traits.last_resort}};
    if (problem) {
      entry["problem"] = Text(*problem);
      entry["applicable"] = row.applicable.ok();
      entry["reason"] = row.applicable.message();
      entry["configs"] = row.configs;
      entry["default_config"] = row.first_config;
    }
    list.push_back(std::move(entry));
  }
}

const char* YesNo(bool value) { return value ? "yes" : "no"; }

void PrintRows(const std::vector<Row>& rows, const std::optional<Problem>& problem, Output& out) {
  std::vector<Column> columns = {{"solver"}, {"operator"}, {"dynamic"}, {"compiles"}, {"IEEE"}};
  if (problem) {
    columns.push_back({"configs", Column::Align::kRight});
    columns.push_back(
        {"default config, or why it does not apply", Column::Align::kLeft, Column::Fit::kCut});
  } else {
    columns.push_back({"what it is", Column::Align::kLeft, Column::Fit::kCut});
  }
  Table table(std::move(columns));
  for (const Row& row : rows) {
    const SolverTraits& traits = row.solver->traits();
    std::vector<std::string> cells = {
        Text(row.solver->id()), traits.operator_name, YesNo(traits.dynamic), CompilesText(traits),
        traits.operator_name == "gemm" ? YesNo(KeepsSpecialValues(row, problem)) : "-"};
    if (!problem) {
      cells.push_back(Printable(traits.description));
    } else if (row.applicable.ok()) {
      cells.push_back(fmt::format("{}", row.configs));
      cells.push_back(row.first_config.empty() ? "(no parameters)" : row.first_config);
    } else {
      cells.push_back("-");
      cells.push_back(Printable(row.applicable.message()));
    }
    table.AddRow(std::move(cells), row.applicable.ok() ? Colour::kPlain : Colour::kDim);
  }
  out.Print(table.Render(out.screen(), out.width()));
}

// "library.attune=1.2 library.k=0a1b"; nothing if unknown.
std::string CodeText(const SolverEntry& entry) {
  std::string text;
  if (entry.code == UnknownCode()) return text;
  for (const auto& [field, value] : entry.code) {
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", field, value);
  }
  return text;
}

// Prints the answers that solvers gave the session last, without asking them again.
Result<int> RunOfSession(Application& application, const SolversOptions& options) {
  ATTUNE_RETURN_IF_ERROR(application.StoreToRead().status());
  const Session& session = *application.session();
  ATTUNE_ASSIGN_OR_RETURN(const SolverTable kept, application.sessions()->Solvers(session.id));
  if (kept.generation == 0) {
    return NotFound(fmt::format(
        "The solvers of session '{}' were never asked{}", Printable(session.name),
        session.is_closed()
            ? ", and it is closed."
            : fmt::format(". 'attune applicability --session {}' does.", ShellWord(session.name))));
  }
  Json list = Json::array();
  Table table({{"solver"},
               {"operator"},
               {"dynamic"},
               {"compiles"},
               {"tunable"},
               {"code", Column::Align::kLeft, Column::Fit::kCut}});
  for (const SolverEntry& entry : kept.entries) {
    table.AddRow({Text(entry.solver), entry.operator_name, YesNo(entry.dynamic),
                  YesNo(entry.compiles), YesNo(entry.tunable), Printable(CodeText(entry))});
    list.push_back({{"name", entry.solver.name},
                    {"version", entry.solver.version},
                    {"operator", entry.operator_name},
                    {"dynamic", entry.dynamic},
                    {"compiles", entry.compiles},
                    {"tunable", entry.tunable},
                    {"code", entry.code}});
  }
  Output& out = application.out();
  out.Print(options.json ? Dump({{"session", session.name},
                                 {"generation", kept.generation},
                                 {"solvers", std::move(list)}})
                         : fmt::format("Generation {} of session '{}'\n{}", kept.generation,
                                       session.name, table.Render(out.screen(), out.width())));
  return kExitDone;
}

Result<int> RunSolvers(Application& application, const SolversOptions& options) {
  if (!options.session.empty()) return RunOfSession(application, options);
  std::vector<std::optional<Problem>> problems = {std::nullopt};
  if (!options.problem.empty()) {
    ATTUNE_ASSIGN_OR_RETURN(const auto parsed, ParseProblemArgument(options.problem));
    problems.assign(parsed.begin(), parsed.end());
  }
  Json list = Json::array();
  for (const auto& problem : problems) {
    ATTUNE_ASSIGN_OR_RETURN(const auto rows, Collect(application, options, problem));
    if (options.json) {
      AddRows(rows, problem, list);
      continue;
    }
    if (&problem != &problems.front()) application.out().Print("\n");
    if (problems.size() > 1) application.out().Print(Text(*problem) + "\n");
    PrintRows(rows, problem, application.out());
  }
  if (options.json) application.out().Print(Dump(list));
  return kExitDone;
}

}  // namespace

void AddSolversVerb(CLI::App& program, Invocation& invocation) {
  auto options = std::make_shared<SolversOptions>();
  CLI::App* verb = AddVerb(
      program, "solvers", "List solvers; with --problem, which of them apply and why others do not",
      "  attune solvers\n"
      "  attune solvers --problem 'gemm@1{m=512,n=512,k=512}'\n"
      "  attune solvers --device opencl:0 --problem 'MIOpenDriver conv -n 1 -c 64 -H 56 -W 56 "
      "-k 64 -y 3 -x 3 -F 1'\n"
      "  attune solvers --session may");
  CLI::Option* session = AddSessionOption(*verb, options->session, invocation,
                                          "Those of this session, as they were asked last");
  verb->add_option("--problem", options->problem,
                   "A canonical problem text or a MIOpenDriver command line")
      ->excludes(session);
  verb->add_option("--device", options->device, "Only solvers of the backend of this device")
      ->excludes(session);
  AddJsonFlag(*verb, options->json);
  verb->callback([options, &invocation] {
    invocation.run = [options](Application& application) {
      return RunSolvers(application, *options);
    };
  });
}

}  // namespace attune
