// The `attune` command line: parses, runs one verb, turns its outcome into an exit status.

#include <unistd.h>

#include <exception>
#include <sstream>

#include <fmt/format.h>

#include "apps/attune/interrupt.h"
#include "apps/attune/model/model_verbs.h"
#include "apps/attune/thread_policy.h"
#include "apps/attune/verbs.h"
#include "attune/base/process_variables.h"
#include "storage/sql/sqlite_settings.h"

namespace attune {
namespace {

constexpr const char* kFooter =
    "\nEvery verb has its own --help with examples.\n"
    "Exit status: 0 done; 1 failed, or a device, solver, tag or file that is named does not "
    "exist;\n"
    "2 wrong usage: an option, problem or candidate that cannot be read; 3 done in part.\n"
    "\nExamples:\n"
    "  attune devices\n"
    "  attune import tests/data/driver/resnet50.txt --tag resnet50 --batch-size 4\n"
    "  attune tune --tag resnet50 --budget 3m\n"
    "  attune best --tag resnet50\n"
    "  attune report --tag resnet50 -o report.html";

int PrintUsageError(Output& err, const CLI::App& program, const CLI::ParseError& error) {
  std::string verb;
  for (const CLI::App* used : program.get_subcommands()) verb = " " + used->get_name();
  std::string message = error.what();
  if (!message.empty() && message.back() != '.') message += '.';
  err.Print(
      fmt::format("attune{}: {} 'attune{} --help' shows what is accepted.\n", verb, message, verb));
  return kExitUsage;
}

const CLI::App* FindVerb(const CLI::App& program, std::string_view name) {
  for (const CLI::App* verb : program.get_subcommands(nullptr)) {
    if (verb->get_name() == name) return verb;
  }
  return nullptr;
}

// The verb that was meant, if there is none of that name.
std::string UnknownVerb(const CLI::App& program, int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--db") ++i;
    if (word.starts_with("-")) continue;
    return FindVerb(program, word) == nullptr ? std::string(word) : "";
  }
  return "";
}

int PrintUnknownVerb(Output& err, const CLI::App& program, const std::string& word) {
  std::string known;
  for (const CLI::App* verb : program.get_subcommands(nullptr)) {
    known += (known.empty() ? "" : ", ") + verb->get_name();
  }
  err.Print(fmt::format("attune: There is no verb '{}'. Verbs are {}.\n", Printable(word), known));
  return kExitUsage;
}

int PrintFailure(Output& err, const CLI::App& program, const Status& status) {
  std::string verb;
  for (const CLI::App* used : program.get_subcommands()) verb = " " + used->get_name();
  err.Print(fmt::format("attune{}: {}\n", verb, Printable(status.message())));
  return status.code() == StatusCode::kInvalidArgument ? kExitUsage : kExitFailed;
}

void AddVerbs(CLI::App& program, Invocation& invocation) {
  AddDevicesVerb(program, invocation);
  AddSolversVerb(program, invocation);
  AddImportVerb(program, invocation);
  AddProblemsVerb(program, invocation);
  AddTuneVerb(program, invocation);
  AddBestVerb(program, invocation);
  AddExplainVerb(program, invocation);
  AddRunVerb(program, invocation);
  AddExportVerb(program, invocation);
  AddReportVerb(program, invocation);
  AddReplayVerb(program, invocation);
  AddBlasVerb(program, invocation);
  AddCublasVerb(program, invocation);
  AddCaptureVerb(program, invocation);
  AddPackageVerb(program, invocation);
  AddProfileVerb(program, invocation);
  AddTunableVerb(program, invocation);
  AddBuildVerb(program, invocation);
  AddMiopenVerb(program, invocation);
  AddSessionVerb(program, invocation);
  AddApplicabilityVerb(program, invocation);
  AddJobsVerb(program, invocation);
  AddStatusVerb(program, invocation);
  AddGoldenVerb(program, invocation);
  AddNetworksVerb(program, invocation);
  AddWorkerVerb(program, invocation);
  AddWorkersVerb(program, invocation);
  AddReconcileVerb(program, invocation);
  AddSeerVerb(program, invocation);
  AddModelVerb(program, invocation);
}

constexpr const char* kEmptyValue =
    "The value is empty, as that of a shell variable that is not set. Give one, or leave the "
    "option out.";

// An empty value is a shell variable that is not set: to take it for an option that was left out
// would work on the wrong database. Only the words after 'attune blas --' are the program's own.
void RefuseEmptyValues(CLI::App& app) {
  const auto check = [](const std::string& value) -> std::string {
    return value.empty() ? kEmptyValue : "";
  };
  for (CLI::Option* option : app.get_options()) {
    const bool is_flag = option->get_items_expected_max() == 0;
    const bool is_command = option->get_positional() && option->get_items_expected_max() > 1;
    if (!is_flag && !is_command) option->check(check, "");
  }
  for (CLI::App* verb : app.get_subcommands(nullptr)) RefuseEmptyValues(*verb);
}

// "--db=", for which the parser would take the next word.
void CheckEqualSigns(int argc, char** argv) {
  for (int i = 1; i < argc && std::string_view(argv[i]) != "--"; ++i) {
    const std::string_view word = argv[i];
    if (!word.starts_with("--") || !word.ends_with('=')) continue;
    throw CLI::ValidationError(std::string(word.substr(0, word.size() - 1)), kEmptyValue);
  }
}

// --help and --version, in which a failed write counts as in everything else.
int PrintAskedFor(Application& application, const CLI::App& program, const CLI::Success& asked) {
  std::ostringstream text;
  program.exit(asked, text, text);
  application.out().Print(text.str());
  const Status written = application.out().Finish();
  return written.ok() ? kExitDone : PrintFailure(application.err(), program, written);
}

// This program finds its helpers, plug-ins and kernels through its own path in /proc.
Status CheckProc() {
  if (::access("/proc/self/maps", R_OK) == 0) return Status::Ok();
  return Unavailable(
      "Cannot tell where attune is installed: /proc is not mounted. Mount it: mount -t proc proc "
      "/proc");
}

int Run(int argc, char** argv) {
  Application application;
  Invocation invocation;
  CLI::App program("Finds the fastest implementation of every operator for every shape.", "attune");
  program.require_subcommand(1);
  program.footer(kFooter);
  program.set_version_flag("--version", std::string(ProgramVersion()));
  program
      .add_option_function<std::string>(
          "--db", [&](const std::string& path) { application.SetDatabase(path); },
          "Database, before or after the verb: a file, postgresql://USER@HOST/DATABASE or "
          "mysql://USER@HOST/DATABASE (default: $ATTUNE_DB, else "
          "$XDG_DATA_HOME/attune/attune.db)")
      ->envname("ATTUNE_DB")
      ->type_name("FILE");
  AddVerbs(program, invocation);
  RefuseEmptyValues(program);
  const std::string unknown = UnknownVerb(program, argc, argv);
  if (!unknown.empty()) return PrintUnknownVerb(application.err(), program, unknown);
  try {
    CheckEqualSigns(argc, argv);
    program.parse(argc, argv);
  } catch (const CLI::Success& asked_for_text) {
    return PrintAskedFor(application, program, asked_for_text);
  } catch (const CLI::FileError& error) {
    return PrintFailure(application.err(), program, NotFound(error.what()));
  } catch (const CLI::ParseError& error) {
    return PrintUsageError(application.err(), program, error);
  }
  if (const Status proc = CheckProc(); !proc.ok()) {
    return PrintFailure(application.err(), program, proc);
  }
  application.UseSession(invocation.session);
  const Result<int> outcome = invocation.run(application);
  const Status written = application.out().Finish();
  if (!outcome.ok()) return PrintFailure(application.err(), program, outcome.error());
  if (!written.ok()) return PrintFailure(application.err(), program, written);
  return *outcome;
}

}  // namespace
}  // namespace attune

int main(int argc, char** argv) {
  attune::DropVariablesOfUser();
  attune::SetThreadWaitPolicy(argv);
  attune::InstallSignalHandlers();
  attune::UseSqliteAlone();
  try {
    return attune::Run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "attune: The program met an error that it does not know: %s.\n",
                 error.what());
    return attune::kExitFailed;
  }
}
