#include "apps/attune/program.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <optional>
#include <sstream>
#include <string>

#include <fmt/format.h>

#include "apps/attune/completion.h"
#include "apps/attune/extensions.h"
#include "apps/attune/interrupt.h"
#include "apps/attune/thread_policy.h"
#include "attune/base/process_variables.h"
#include "storage/sql/sql_store.h"
#include "storage/sql/sqlite_settings.h"

namespace attune {
namespace {

constexpr const char* kFooter =
    "Every verb has its own --help with examples.\n"
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

int PrintUnknownVerb(Output& err, const CLI::App& program, const std::string& word) {
  const std::vector<Extension> extensions = InstalledExtensions();
  std::string known;
  for (const CLI::App* verb : program.get_subcommands(nullptr)) {
    known += (known.empty() ? "" : ", ") + verb->get_name();
  }
  for (const Extension& extension : extensions) {
    for (const Extension::Verb& verb : extension.verbs) known += ", " + verb.name;
  }
  const char* hint = extensions.empty() ? " No extension is installed, which may have others." : "";
  err.Print(fmt::format("attune: There is no verb '{}'. Verbs are {}.{}\n", Printable(word), known,
                        hint));
  int status = kExitUsage;
  for (const Extension& extension : extensions) {
    if (extension.fault.empty()) continue;
    err.Print(fmt::format("attune: Cannot use the extension '{}': {}.\n", Printable(extension.name),
                          Printable(extension.fault)));
    status = kExitFailed;  // It may have the verb.
  }
  return status;
}

// "Extensions:" and a line for each: its name, its purpose, and its verbs.
std::string HelpOn(const std::vector<Extension>& extensions) {
  if (extensions.empty()) return "";
  std::string text = "\nExtensions (attune VERB --help):\n";
  for (const Extension& extension : extensions) {
    std::string verbs;
    for (const Extension::Verb& verb : extension.verbs) {
      verbs += (verbs.empty() ? "" : ", ") + verb.name;
    }
    const std::string use = extension.fault.empty() ? extension.description + ": " + verbs
                                                    : "Cannot be used: " + extension.fault;
    text += fmt::format("  {:<28}{}\n", Printable(extension.name), Printable(use));
  }
  return text;
}

int PrintFailure(Output& err, const CLI::App& program, const Status& status) {
  std::string verb;
  for (const CLI::App* used : program.get_subcommands()) verb = " " + used->get_name();
  err.Print(fmt::format("attune{}: {}\n", verb, Printable(status.message())));
  return status.code() == StatusCode::kInvalidArgument ? kExitUsage : kExitFailed;
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

// The parser of the command line, and the values that it sets.
struct CommandLine {
  CommandLine(ProgramKind kind, const std::vector<VerbAdder>& verbs);

  Application application;
  Invocation invocation;
  CLI::App program{"Finds the fastest implementation of every operator for every shape.", "attune"};
};

CommandLine::CommandLine(ProgramKind kind, const std::vector<VerbAdder>& verbs) {
  program.require_subcommand(1);
  program.footer([kind] {
    const bool is_core = kind == ProgramKind::kCore;
    return (is_core ? HelpOn(InstalledExtensions()) : "") + "\n" + kFooter;
  });
  program.set_version_flag("--version", std::string(ProgramVersion()));
  program
      .add_option_function<std::string>(
          "--db", [this](const std::string& path) { application.SetDatabase(path); },
          "Database, before or after the verb: a file, postgresql://USER@HOST/DATABASE or "
          "mysql://USER@HOST/DATABASE (default: $ATTUNE_DB, else "
          "$XDG_DATA_HOME/attune/attune.db)")
      ->envname("ATTUNE_DB")
      ->type_name("FILE");
  for (const VerbAdder add : verbs) add(program, invocation);
  RefuseEmptyValues(program);
}

// True if --db, ATTUNE_DB or another option, such as --prior, names a database on a server.
bool NamesServer(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    const auto& values = option->results();
    if (std::any_of(values.begin(), values.end(), IsOnServer)) return true;
  }
  const auto subcommands = app.get_subcommands(nullptr);
  return std::any_of(subcommands.begin(), subcommands.end(),
                     [](const CLI::App* verb) { return NamesServer(*verb); });
}

// Replaces this process by the extension that has the verb. Returns if the verb is one of this
// program (nothing), if it is unknown, or if the extension cannot be started (the exit status).
std::optional<int> RunExtension(CommandLine& line, ProgramKind kind,
                                const std::vector<std::string>& words, char** argv) {
  const std::string verb = VerbAmong(words);
  if (verb.empty() || FindVerb(line.program, verb) != nullptr) return std::nullopt;
  Output& err = line.application.err();
  // Without /proc there are no extensions to look into.
  if (const Status proc = CheckProc(); !proc.ok()) return PrintFailure(err, line.program, proc);
  // An extension does not start another one.
  if (kind != ProgramKind::kCore || !HasVerb(InstalledExtensions(), verb)) {
    return PrintUnknownVerb(err, line.program, verb);
  }
  return PrintFailure(err, line.program, BecomeProgram("attune-" + verb, argv));
}

// Prints the completions of the last of `words`; core becomes the extension that knows them.
int Complete(CommandLine& line, ProgramKind kind, const std::vector<std::string>& words,
             char** argv) {
  const bool is_core = kind == ProgramKind::kCore;
  const auto extensions = is_core ? InstalledExtensions() : std::vector<Extension>();
  const std::string verb = VerbAmong({words.begin(), words.end() - 1});
  if (FindVerb(line.program, verb) == nullptr && HasVerb(extensions, verb)) {
    (void)BecomeProgram("attune-" + verb, argv);
    return kExitFailed;
  }
  Output& out = line.application.out();
  out.Print(Completions(line.program, extensions, words));
  return out.Finish().ok() ? kExitDone : kExitFailed;
}

// Returns an exit status unless there is a verb to run.
std::optional<int> Parse(CommandLine& line, int argc, char** argv) {
  Application& application = line.application;
  try {
    CheckEqualSigns(argc, argv);
    line.program.parse(argc, argv);
  } catch (const CLI::Success& asked_for_text) {
    return PrintAskedFor(application, line.program, asked_for_text);
  } catch (const CLI::FileError& error) {
    return PrintFailure(application.err(), line.program, NotFound(error.what()));
  } catch (const CLI::ParseError& error) {
    return PrintUsageError(application.err(), line.program, error);
  }
  const Status proc = CheckProc();
  if (!proc.ok()) return PrintFailure(application.err(), line.program, proc);
  return std::nullopt;
}

int RunVerb(CommandLine& line) {
  InstallSignalHandlers();
  UseSqliteAlone();
  Application& application = line.application;
  application.UseSession(line.invocation.session);
  const Result<int> outcome = line.invocation.run(application);
  const Status written = application.out().Finish();
  if (!outcome.ok()) return PrintFailure(application.err(), line.program, outcome.error());
  if (!written.ok()) return PrintFailure(application.err(), line.program, written);
  return *outcome;
}

}  // namespace

int RunProgram(int argc, char** argv, ProgramKind kind, const std::vector<VerbAdder>& verbs) try {
  DropVariablesOfUser();
  const bool is_core = kind == ProgramKind::kCore;
  CommandLine line(kind, verbs);
  const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  if (words.size() > 1 && words.front() == kCompleteFlag) {
    return Complete(line, kind, {words.begin() + 1, words.end()}, argv);
  }
  if (const auto status = RunExtension(line, kind, words, argv)) return *status;
  SetThreadWaitPolicy(argv);
  if (const auto status = Parse(line, argc, argv)) return *status;
  if (is_core && NamesServer(line.program)) {
    // Without that extension, the verb reports the missing part when it needs the server.
    (void)BecomeProgram(kFleetProgram, argv);
  }
  return RunVerb(line);
} catch (const std::exception& error) {
  std::fprintf(stderr, "attune: The program met an error that it does not know: %s.\n",
               error.what());
  return kExitFailed;
}

}  // namespace attune
