#include "extensions/interposers/preload.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string_view>

#include <fmt/format.h>

#include "apps/attune/interrupt.h"
#include "attune/base/code_folder.h"
#include "attune/base/host_messages.h"
#include "attune/base/path_variable.h"
#include "attune/base/process_variables.h"
#include "attune/record/rules.h"
#include "extensions/interposers/program_database.h"
#include "extensions/interposers/program_results.h"
#include "extensions/interposers/recorded_program.h"
#include "extensions/interposers/waited_program.h"

namespace attune {
namespace {

// As shells have it.
constexpr int kExitCannotExecute = 126;
constexpr int kExitNoProgram = 127;

struct PreloadOptions {
  std::string record_tag;  // Empty: serve.
  bool stats = false;
  std::vector<std::string> command;
};

// "ATTUNE_BLAS", with `suffix` behind it.
std::string VariableOf(const Interposer& interposer, std::string_view suffix = "") {
  std::string name = "ATTUNE_";
  for (const char c : interposer.name) name += static_cast<char>(std::toupper(c));
  return name.append(suffix);
}

Status SetUp(const Interposer& interposer, const PreloadOptions& options,
             const std::string& library) {
  ATTUNE_ASSIGN_OR_RETURN(const auto variables, PreloadVariables(library));
  for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
  if (!options.record_tag.empty()) {
    ::setenv(VariableOf(interposer).c_str(), "record", 1);
    ::setenv("ATTUNE_RECORD_TAG", options.record_tag.c_str(), 1);
  }
  if (options.stats) ::setenv(VariableOf(interposer, "_STATS").c_str(), "1", 1);
  return Status::Ok();
}

int SayNoStart(const Interposer& interposer, const std::string& program, int reason, Output& err) {
  err.Print(fmt::format("attune {}: Cannot start '{}': {}.\n", interposer.name, Printable(program),
                        std::strerror(reason)));
  return ExitStatusOfNoStart(reason);
}

// Returns only if the program cannot be started.
int Become(const Interposer& interposer, const std::vector<std::string>& command, Output& err) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  err.Flush();
  RestoreSignalHandlers();
  ::execvp(arguments[0], arguments.data());
  return SayNoStart(interposer, command[0], errno, err);
}

// The library compares this id with that of its process.
void NameProcess(const Interposer& interposer) {
  ::setenv(VariableOf(interposer, "_PROCESS").c_str(), std::to_string(::getpid()).c_str(), 1);
}

// True if the option or the environment asks the program to record.
bool Records(const Interposer& interposer, const PreloadOptions& options) {
  const char* mode = std::getenv(VariableOf(interposer).c_str());
  return !options.record_tag.empty() || (mode != nullptr && std::string_view(mode) == "record");
}

std::string TagOf(const PreloadOptions& options) {
  if (!options.record_tag.empty()) return options.record_tag;
  const char* tag = std::getenv("ATTUNE_RECORD_TAG");
  return tag == nullptr ? "recorded" : tag;
}

// Keeps the program from repeating the complaint.
void NoteTold(Complaint complaint) {
  if (std::getenv(kReportedVariable) == nullptr) {
    ::setenv(kReportedVariable, NothingReported().c_str(), 1);
  }
  (void)BeginComplaint(complaint);
}

// Printed before the program starts: the program may close or replace standard error.
void SayUnusable(const Interposer& interposer, const Status& why, bool records, Output& err) {
  err.Print(
      fmt::format("attune {}: cannot use the database, so nothing is {}: {}\n"
                  "hint: name another one with --db FILE\n",
                  interposer.name, records ? "recorded in it" : "tuned", Printable(why.message())));
  NoteTold(Complaint::kDatabase);
  if (records) NoteTold(Complaint::kRecording);
}

void SayUnusableResults(const Interposer& interposer, Output& err) {
  const Status usable = CheckProgramResults();
  if (usable.ok()) return;
  err.Print(
      fmt::format("attune {}: cannot use the results file, so none of its choices serves: {}\n"
                  "hint: correct the file, or name another one in ATTUNE_TUNABLE_FILENAME\n",
                  interposer.name, Printable(usable.message())));
  NoteTold(Complaint::kResults);
}

// Returns -1 if attune cannot wait for the program: it must run without that.
int RunAndReport(const Interposer& interposer, Application& application,
                 const PreloadOptions& options, const ProgramDatabase& database) {
  const auto end = RunRecorded(application, database,
                               {interposer.name, TagOf(options), options.command,
                                [&interposer] { NameProcess(interposer); }});
  if (!end.ok()) {
    application.err().Print(fmt::format("attune {}: cannot count recorded problems: {}\n",
                                        interposer.name, Printable(end.error().message())));
    return -1;
  }
  if (end->start_error == 0) return EndAs(end->wait_status);
  return SayNoStart(interposer, options.command[0], end->start_error, application.err());
}

// What the library would end the program for at its first product.
Status CheckMode(const Interposer& interposer) {
  const std::string variable = VariableOf(interposer);
  const char* value = std::getenv(variable.c_str());
  for (const std::string_view known : {"", "serve", "record", "off"}) {
    if (value == nullptr || known == value) return Status::Ok();
  }
  return InvalidArgument(
      fmt::format("{} is '{}'. It may be 'serve', 'record' or 'off'.", variable, Printable(value)));
}

Result<int> Run(const Interposer& interposer, Application& application,
                const PreloadOptions& options) {
  application.err().NeverWait();
  if (options.record_tag.starts_with('-')) {
    return InvalidArgument(
        fmt::format("--record takes the name of a tag, and '{}' is none: it begins with '-'.",
                    Printable(options.record_tag)));
  }
  if (options.record_tag.empty()) ATTUNE_RETURN_IF_ERROR(CheckMode(interposer));
  ATTUNE_ASSIGN_OR_RETURN(const std::string library,
                          FindPreloadLibrary(interposer.name, interposer.missing));
  const bool records = Records(interposer, options);
  if (records) ATTUNE_RETURN_IF_ERROR(ValidateTagging(TagOf(options), {}));
  const ProgramDatabase database = DatabaseOfProgram(application, records);
  NameDatabase(application);
  ATTUNE_RETURN_IF_ERROR(SetUp(interposer, options, library));
  if (!database.usable.ok()) SayUnusable(interposer, database.usable, records, application.err());
  SayUnusableResults(interposer, application.err());
  if (records && !database.file.empty()) {
    const int status = RunAndReport(interposer, application, options, database);
    if (status >= 0) return status;
  }
  NameProcess(interposer);
  return Become(interposer, options.command, application.err());
}

// True if the loader would split `path` into several names.
bool HasSeparator(std::string_view path) { return path.find_first_of(": ") != std::string::npos; }

// LD_PRELOAD with `library` in front. Its paths do not depend on the current folder.
Result<std::string> PreloadWith(const std::string& library) {
  std::string all = library;
  const std::string set = VariableOr("LD_PRELOAD", "");
  std::string_view others = set;
  while (!others.empty()) {
    const size_t end = std::min(others.find_first_of(": "), others.size());
    const std::string_view name = others.substr(0, end);
    others.remove_prefix(std::min(end + 1, others.size()));
    if (name.empty()) continue;
    // The loader searches the system's library folders for a name without a slash. It resolves
    // any other relative path from the current folder of each process.
    const bool is_relative =
        name.find('/') != std::string_view::npos && name[0] != '/' && name[0] != '$';
    const std::string path = is_relative ? FromStart(name) : std::string(name);
    if (HasSeparator(path)) {
      return FailedPrecondition(fmt::format(
          "LD_PRELOAD names '{}'. Its path '{}' has a space or a colon, where LD_PRELOAD separates "
          "names. Start attune in another folder, or move the library.",
          Printable(name), Printable(path)));
    }
    all += fmt::format(":{}", path);
  }
  return all;
}

}  // namespace

Result<std::string> FindPreloadLibrary(std::string_view name, std::string_view missing) {
  std::error_code error;
  ATTUNE_ASSIGN_OR_RETURN(const std::filesystem::path prefix, InstallationFolder());
  const auto library = prefix / fmt::format("lib/attune/libattune_{}.so", name);
  if (!std::filesystem::exists(library, error)) {
    return NotFound(
        fmt::format("There is no preload library at '{}'. {}", library.string(), missing));
  }
  if (HasSeparator(library.string())) {
    return FailedPrecondition(fmt::format(
        "The path '{}' has a space or a colon in it, which LD_PRELOAD takes for the end of a "
        "name. Install attune elsewhere.",
        library.string()));
  }
  return library.string();
}

Result<std::map<std::string, std::string>> PreloadVariables(const std::string& library) {
  ATTUNE_ASSIGN_OR_RETURN(const std::string preload, PreloadWith(library));
  std::map<std::string, std::string> variables = {{"LD_PRELOAD", preload}};
  // Without this, AddressSanitizer ends its programs at the start. It is safe: our libraries
  // interpose no function that the sanitizer intercepts.
  constexpr std::string_view kOrder = "verify_asan_link_order";
  const std::string options = VariableOr("ASAN_OPTIONS", "");
  if (options.find(kOrder) == std::string::npos) {
    variables["ASAN_OPTIONS"] =
        fmt::format("{}{}{}=0", options, options.empty() ? "" : ":", kOrder);
  }
  return variables;
}

int ExitStatusOfNoStart(int reason) {
  return reason == ENOENT ? kExitNoProgram : kExitCannotExecute;
}

void AddPreloadVerb(CLI::App& program, Invocation& invocation, const Interposer& interposer) {
  auto options = std::make_shared<PreloadOptions>();
  const std::string examples = fmt::format(
      "{}\nExit status: the program's; 127 if it is not found, 126 if it cannot be started.",
      interposer.examples);
  CLI::App* verb =
      AddVerb(program, std::string(interposer.name), std::string(interposer.description), examples);
  verb->add_option("--record", options->record_tag,
                   "Collect the problems under this tag, to be tuned later; nothing is timed")
      ->type_name("TAG");
  verb->add_flag("--stats", options->stats, "Say at the end how many calls were served");
  verb->add_option("program", options->command, "After '--': the program and its arguments")
      ->required();
  verb->callback([interposer, options, &invocation] {
    invocation.run = [interposer, options](Application& application) {
      return Run(interposer, application, *options);
    };
  });
}

}  // namespace attune
