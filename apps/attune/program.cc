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

int PrintUnknownVerb(Output& err, const CLI::App& program, const std::vector<Extension>& extensions,
                     const std::string& word) {
  std::string known;
  for (const CLI::App* verb : program.get_subcommands(nullptr)) {
    known += (known.empty() ? "" : ", ") + verb->get_name();
  }
  for (const Extension& extension : extensions) {
    for (const Extension::Verb& verb : extension.verbs) known += ", " + verb.name;
  }
  err.Print(fmt::format("attune: There is no verb '{}'. Verbs are {}.\n", Printable(word), known));
  for (const Extension& extension : extensions) {
    if (extension.fault.empty()) continue;
    err.Print(fmt::format("attune: Cannot use the extension '{}': {}.\n", Printable(extension.name),
                          Printable(extension.fault)));
  }
  return kExitUsage;
}

// "Extensions:" and a line for each: its name, what it is for, and its verbs.
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

// Completes a command line, or reports a verb that does not exist. Returns nothing if the verb must
// be parsed.
std::optional<int> RunWithoutVerb(Application& application, const CLI::App& program,
                                  const std::vector<Extension>& extensions,
                                  const std::vector<std::string>& words) {
  if (words.size() > 1 && words.front() == kCompleteFlag) {
    const std::vector<std::string> line(words.begin() + 1, words.end());
    application.out().Print(Completions(program, extensions, line));
    return application.out().Finish().ok() ? kExitDone : kExitFailed;
  }
  const std::string verb = VerbAmong(words);
  if (verb.empty() || FindVerb(program, verb) != nullptr) return std::nullopt;
  // Without /proc there are no extensions to look into.
  if (const Status proc = CheckProc(); !proc.ok()) {
    return PrintFailure(application.err(), program, proc);
  }
  return PrintUnknownVerb(application.err(), program, extensions, verb);
}

int Run(int argc, char** argv, const std::vector<Extension>& extensions,
        const std::vector<VerbAdder>& verbs) {
  Application application;
  Invocation invocation;
  CLI::App program("Finds the fastest implementation of every operator for every shape.", "attune");
  program.require_subcommand(1);
  program.footer(HelpOn(extensions) + "\n" + kFooter);
  program.set_version_flag("--version", std::string(ProgramVersion()));
  program
      .add_option_function<std::string>(
          "--db", [&](const std::string& path) { application.SetDatabase(path); },
          "Database, before or after the verb: a file, postgresql://USER@HOST/DATABASE or "
          "mysql://USER@HOST/DATABASE (default: $ATTUNE_DB, else "
          "$XDG_DATA_HOME/attune/attune.db)")
      ->envname("ATTUNE_DB")
      ->type_name("FILE");
  for (const VerbAdder add : verbs) add(program, invocation);
  RefuseEmptyValues(program);
  const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  if (const auto status = RunWithoutVerb(application, program, extensions, words)) return *status;
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

// Becomes the program of an extension if the command line is for one. Returns an exit status only
// if that fails.
std::optional<int> RunExtension(const std::vector<Extension>& extensions,
                                std::vector<std::string> words, char** argv) {
  if (!words.empty() && words.front() == kCompleteFlag) {
    words.erase(words.begin());
    // The last word is not complete.
    if (!words.empty()) words.pop_back();
  }
  const auto name = ProgramOfExtension(extensions, words);
  if (!name.has_value()) return std::nullopt;
  const Status failure = BecomeProgram(*name, argv);
  std::fprintf(stderr, "attune: %s\n", Printable(failure.message()).c_str());
  return kExitFailed;
}

}  // namespace

int RunProgram(int argc, char** argv, ProgramKind kind, const std::vector<VerbAdder>& verbs) try {
  DropVariablesOfUser();
  std::vector<Extension> extensions;
  if (kind == ProgramKind::kCore) {
    extensions = InstalledExtensions();
    const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
    if (const auto status = RunExtension(extensions, words, argv)) return *status;
  }
  SetThreadWaitPolicy(argv);
  InstallSignalHandlers();
  UseSqliteAlone();
  return Run(argc, argv, extensions, verbs);
} catch (const std::exception& error) {
  std::fprintf(stderr, "attune: The program met an error that it does not know: %s.\n",
               error.what());
  return kExitFailed;
}

}  // namespace attune
