// attune build: compiles kernels for problems on a GPU that may be absent.

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "apps/attune/compiler_watch.h"
#include "apps/attune/interrupt.h"
#include "apps/attune/json_text.h"
#include "apps/attune/kernel_options.h"
#include "apps/attune/problem_argument.h"
#include "apps/attune/session/solver_survey.h"
#include "apps/attune/table.h"
#include "apps/attune/verbs.h"
#include "attune/base/file.h"
#include "attune/base/parallel_for.h"
#include "attune/compile/builder.h"
#include "attune/compile/default_kernel_cache.h"
#include "attune/ops/registry.h"
#include "runtime/compile_place.h"

namespace attune {
namespace {

constexpr double kNsPerMs = 1e6;

struct BuildOptions {
  std::string kernel_device;  // Device for a user's kernel; nothing runs here.
  ProblemSelection selection;
  bool every_kernel = false;
  std::string target;
  std::string into;  // Empty: the cache.
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

// The outcome of one kernel for one problem.
struct BuildRow {
  const Solver* solver = nullptr;
  std::string problem;
  BuildState state = BuildState::kFailed;
  std::string config;  // Empty if left out.
  Status why;          // It is left out or failed.
  size_t size_bytes = 0;
  int64_t build_ns = 0;
  std::optional<int> blocks_per_multiprocessor;  // Nothing if it is not known.
};

// Builds the default of `solver`. A result that cannot be stored is a failure: storing is the
// purpose.
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
    // Built, and more than such a GPU has room for.
    const bool is_unfit = outcome.failure()->kind == FailureKind::kNotApplicable;
    if (is_unfit) row.state = BuildState::kLeftOut;
    return row;
  }
  if (!outcome.cache_status.ok()) {
    row.why = outcome.cache_status;
    return row;
  }
  row.state = outcome.from_cache ? BuildState::kKept : BuildState::kBuilt;
  row.size_bytes = outcome.artifact()->bytes.size();
  row.build_ns = outcome.build_ns;
  row.blocks_per_multiprocessor = outcome.blocks_per_multiprocessor;
  return row;
}

BuildRow NotBegun(const Solver& solver, const Problem& problem) {
  BuildRow row;
  row.solver = &solver;
  row.problem = Text(problem);
  row.why = Unavailable("It was not begun, for the run was interrupted. The same command goes on.");
  return row;
}

// On every core that this process may use: compilers take tenths of a second and more.
std::vector<BuildRow> BuildAll(const BuildOptions& options, const CompilePlace& place,
                               const std::vector<TaggedProblem>& problems, Builder& builder,
                               const OrderlyInterruption& interruption) {
  struct Task {
    const Solver* solver;
    const Problem* problem;
  };
  std::vector<Task> tasks;
  for (const TaggedProblem& tagged : problems) {
    for (const auto& solver : place.backend->solvers()) {
      const SolverTraits& traits = solver->traits();
      if (!traits.compiles || traits.operator_name != OperatorName(tagged.problem)) continue;
      // Code for one size is useless for other sizes.
      if (options.every_kernel && !traits.dynamic) continue;
      tasks.push_back({solver.get(), &tagged.problem});
    }
  }
  // One build of it serves every problem.
  const Solver* const reference = place.backend->reference_solver();
  if (options.every_kernel && reference != nullptr && reference->traits().compiles) {
    tasks.push_back({reference, &problems.front().problem});
  }
  std::vector<BuildRow> rows(tasks.size());
  const CompilerWatch watch([&] { return interruption.requested(); });
  ParallelFor(std::ssize(tasks), [&](int64_t i) {
    const auto& [solver, problem] = tasks[static_cast<size_t>(i)];
    rows[static_cast<size_t>(i)] = interruption.requested()
                                       ? NotBegun(*solver, *problem)
                                       : BuildOne(builder, *solver, *problem, place.target);
  });
  return rows;
}

Json JsonOf(const std::optional<int>& number) { return number ? Json(*number) : Json(); }

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
                      {"build_ns", row.build_ns},
                      {"blocks_per_multiprocessor", JsonOf(row.blocks_per_multiprocessor)}});
  }
  return {{"target", Text(target)}, {"builds", std::move(builds)}};
}

void PrintRows(const std::vector<BuildRow>& rows, Application& application) {
  // Only of some GPUs is it known.
  const bool has_blocks = std::any_of(rows.begin(), rows.end(), [](const BuildRow& row) {
    return row.blocks_per_multiprocessor.has_value();
  });
  std::vector<Column> columns = {{"problem", Column::Align::kLeft, Column::Fit::kBelow},
                                 {"solver"},
                                 {"state"},
                                 {"bytes", Column::Align::kRight},
                                 {"ms", Column::Align::kRight}};
  if (has_blocks) columns.push_back({"blocks/SM", Column::Align::kRight, Column::Fit::kLeftOut});
  columns.push_back({"config, or why not", Column::Align::kLeft, Column::Fit::kCut});
  Table table(std::move(columns));
  for (const BuildRow& row : rows) {
    const bool is_there = row.state == BuildState::kBuilt || row.state == BuildState::kKept;
    const std::optional<int>& blocks = row.blocks_per_multiprocessor;
    const double build_ms = static_cast<double>(row.build_ns) / kNsPerMs;
    std::vector<std::string> cells = {
        row.problem, Text(row.solver->id()), std::string(Name(row.state)),
        is_there ? std::to_string(row.size_bytes) : "-",
        row.state == BuildState::kBuilt ? fmt::format("{:.0f}", build_ms) : "-"};
    if (has_blocks) cells.push_back(blocks ? std::to_string(*blocks) : "-");
    cells.push_back(Printable(is_there ? row.config : row.why.message()));
    table.AddRow(std::move(cells),
                 row.state == BuildState::kLeftOut ? Colour::kDim : Colour::kPlain);
  }
  application.out().Print(table.Render(application.out().screen(), application.out().width()));
}

// For lists of hundreds of problems: one row for each kernel, and the failures.
void PrintSummary(const std::vector<BuildRow>& rows, Application& application) {
  struct Count {
    std::array<int, 4> states = {};
    size_t size_bytes = 0;
  };
  std::map<std::string, Count> counts;
  for (const BuildRow& row : rows) {
    Count& count = counts[Text(row.solver->id())];
    ++count.states[static_cast<size_t>(row.state)];
    if (row.state == BuildState::kBuilt) count.size_bytes += row.size_bytes;
  }
  std::vector<Column> columns = {{"solver"}};
  for (const BuildState state :
       {BuildState::kBuilt, BuildState::kKept, BuildState::kLeftOut, BuildState::kFailed}) {
    columns.push_back({std::string(Name(state)), Column::Align::kRight});
  }
  columns.push_back({"bytes built", Column::Align::kRight});
  Table table(std::move(columns));
  for (const auto& [solver, count] : counts) {
    std::vector<std::string> cells = {solver};
    for (const int number : count.states) cells.push_back(std::to_string(number));
    cells.push_back(std::to_string(count.size_bytes));
    table.AddRow(std::move(cells));
  }
  application.out().Print(table.Render(application.out().screen(), application.out().width()));
  for (const BuildRow& row : rows) {
    if (row.state != BuildState::kFailed) continue;
    application.err().Print(fmt::format("attune build: {} for {}: {}\n", Text(row.solver->id()),
                                        row.problem, Printable(row.why.message())));
  }
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

Result<std::vector<TaggedProblem>> ProblemsOf(Application& application,
                                              const BuildOptions& options) {
  if (!options.every_kernel) return Resolve(application, options.selection);
  std::vector<TaggedProblem> problems;
  for (Problem& problem : EverydayProblems()) {
    TaggedProblem& tagged = problems.emplace_back();
    tagged.problem = std::move(problem);
  }
  return problems;
}

// Ok, or why code compiled at `place` does not belong to the named session.
Status CheckIsOfSession(Application& application, const CompilePlace& place) {
  if (!application.names_session()) return Status::Ok();
  ATTUNE_RETURN_IF_ERROR(application.StoreToRead().status());
  const Session& session = *application.session();
  const SessionTerms& terms = session.terms;
  const Target& target = place.target;
  if (terms.backend == target.backend && terms.arch == target.arch) {
    return CheckToolchain(session, place.toolchain);
  }
  return FailedPrecondition(fmt::format(
      "Session '{}' is for {} of {}, and --target names {} of {}, so nothing that is built for it "
      "is the session's. Name the session's architecture, or leave --session out.",
      Printable(session.name), terms.arch, terms.backend, target.arch, target.backend));
}

// True if `entry` is code that was built, and not a link.
bool IsBuilt(const std::filesystem::directory_entry& entry) {
  std::error_code error;
  return entry.path().extension() == ".kernel" &&
         entry.symlink_status(error).type() == std::filesystem::file_type::regular;
}

// Ok, or why `folder` cannot hold only built kernels: it becomes readable to all users.
Status CheckHoldsOnlyKernels(const std::filesystem::path& folder) {
  std::error_code error;
  for (std::filesystem::directory_iterator entries(folder, error), end; !error && entries != end;
       entries.increment(error)) {
    const std::string name = entries->path().filename().string();
    if (IsBuilt(*entries) || name == "turns" || name.find(".kernel.tmp.") != std::string::npos) {
      continue;
    }
    return InvalidArgument(fmt::format(
        "The folder '{}' holds '{}', which is no kernel. --into makes a folder readable to every "
        "user: name a new one.",
        folder.string(), Printable(name)));
  }
  return Status::Ok();
}

constexpr auto kReadable = std::filesystem::perms::owner_read |
                           std::filesystem::perms::owner_write |
                           std::filesystem::perms::group_read | std::filesystem::perms::others_read;
constexpr auto kSearchable = kReadable | std::filesystem::perms::owner_exec |
                             std::filesystem::perms::group_exec |
                             std::filesystem::perms::others_exec;

// Makes the missing folders above `folder`, open to all users but writable only to the owner,
// whatever the umask.
Status MakeFoldersAbove(const std::filesystem::path& folder) {
  const std::filesystem::path above = folder.parent_path();
  std::error_code error;
  if (above.empty() || std::filesystem::exists(above, error)) return Status::Ok();
  ATTUNE_RETURN_IF_ERROR(MakeFoldersAbove(above));
  if (std::filesystem::create_directory(above, error)) {
    std::filesystem::permissions(above, kSearchable, error);
  }
  if (!error) return Status::Ok();
  return Unavailable(fmt::format("Cannot make the folder '{}': {}. Make it, or name another.",
                                 above.string(), error.message()));
}

Result<OpenedKernelCache> CacheOf(const BuildOptions& options) {
  if (options.into.empty()) return OpenDefaultKernelCache();
  ATTUNE_RETURN_IF_ERROR(CheckHoldsOnlyKernels(options.into));
  ATTUNE_RETURN_IF_ERROR(MakeFoldersAbove(WithoutTrailingSlash(options.into)));
  ATTUNE_ASSIGN_OR_RETURN(auto folder, FolderKernelCache::Open(options.into));
  OpenedKernelCache opened;
  opened.cache = std::move(folder);
  return opened;
}

// Makes installed files readable to all users and writable only to the owner.
Status OpenToReaders(const std::filesystem::path& folder) {
  std::error_code error;
  for (std::filesystem::directory_iterator entries(folder, error), end; !error && entries != end;
       entries.increment(error)) {
    // A process that has replaced a file meanwhile opens it itself.
    std::error_code gone;
    if (IsBuilt(*entries)) std::filesystem::permissions(entries->path(), kReadable, gone);
  }
  if (!error) std::filesystem::permissions(folder, kSearchable, error);
  if (!error) return Status::Ok();
  return Unavailable(fmt::format("What was built cannot be made readable in '{}': {}.",
                                 folder.string(), error.message()));
}

Result<int> RunBuild(Application& application, const BuildOptions& options) {
  ATTUNE_ASSIGN_OR_RETURN(const CompilePlace place, FindCompilePlace(options.target));
  ATTUNE_RETURN_IF_ERROR(CheckIsOfSession(application, place));
  ATTUNE_ASSIGN_OR_RETURN(const std::vector<TaggedProblem> problems,
                          ProblemsOf(application, options));
  ATTUNE_ASSIGN_OR_RETURN(const OpenedKernelCache cache, CacheOf(options));
  ATTUNE_RETURN_IF_ERROR(cache.kept);
  if (!cache.installed.ok()) application.err().Print(cache.installed.message() + "\n");
  Builder builder(*cache.cache);
  const OrderlyInterruption interruption;
  const std::vector<BuildRow> rows = BuildAll(options, place, problems, builder, interruption);
  if (options.json) {
    application.out().Print(Dump(JsonOf(place.target, rows)));
  } else if (options.every_kernel) {
    PrintSummary(rows, application);
  } else if (!rows.empty()) {
    PrintRows(rows, application);
  }
  const bool is_whole = std::none_of(rows.begin(), rows.end(), [](const BuildRow& row) {
    return row.state == BuildState::kFailed;
  });
  if (interruption.requested() && !is_whole) {
    application.err().Print(
        "attune build: Interrupted. What was built is kept; the same command builds the rest.\n");
  } else {
    ATTUNE_RETURN_IF_ERROR(CheckAnyIsThere(rows, options.target));
  }
  if (!options.into.empty()) ATTUNE_RETURN_IF_ERROR(OpenToReaders(options.into));
  return is_whole ? kExitDone : kExitPartly;
}

}  // namespace

void AddBuildVerb(CLI::App& program, Invocation& invocation) {
  auto options = std::make_shared<BuildOptions>();
  CLI::App* verb =
      AddVerb(program, "build", "Compile kernels for a GPU that need not be here, and run nothing",
              "  attune build --target gfx90a --problem 'gemm@1{m=512,n=512,k=512}'\n"
              "  attune build --target sm_90 --tag resnet50 --json\n"
              "  attune build --target sm_90 --every-kernel --into /tmp/built");
  CLI::Option_group* group = AddSelectionOptions(*verb, options->selection, invocation);
  AddKernelOptions(*verb, *group, options->selection.problems, options->kernel_device);
  group
      ->add_flag("--every-kernel", options->every_kernel,
                 "All kernels that take any size, for what programs ask for most")
      ->excludes("--tag")
      ->excludes("--model")
      ->excludes("--session")
      ->excludes("--problem")
      ->excludes("--kernel");
  verb->add_option("--into", options->into,
                   "A folder of its own for what is built, instead of the kernel cache")
      ->type_name("FOLDER");
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
