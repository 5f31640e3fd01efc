// The core verbs, one source file each, and options that verbs share.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

#include "apps/attune/application.h"
#include "apps/attune/problem_argument.h"
#include "attune/base/status.h"

namespace attune {

struct WorkshopLimits;

// The verb of a command line sets this; `run` is called after parsing. Its result is an exit
// status. A Status is printed as a sentence.
struct Invocation {
  std::string session;  // The value of --session; the application gets it before `run`.
  std::function<Result<int>(Application&)> run;
};

void AddDevicesVerb(CLI::App& program, Invocation& invocation);
void AddSolversVerb(CLI::App& program, Invocation& invocation);
void AddImportVerb(CLI::App& program, Invocation& invocation);
void AddProblemsVerb(CLI::App& program, Invocation& invocation);
void AddTuneVerb(CLI::App& program, Invocation& invocation);
void AddBestVerb(CLI::App& program, Invocation& invocation);
void AddExplainVerb(CLI::App& program, Invocation& invocation);
void AddRunVerb(CLI::App& program, Invocation& invocation);
void AddExportVerb(CLI::App& program, Invocation& invocation);
void AddReportVerb(CLI::App& program, Invocation& invocation);
void AddPackageVerb(CLI::App& program, Invocation& invocation);
void AddBuildVerb(CLI::App& program, Invocation& invocation);

// A subcommand whose help ends with `examples` (one command line each).
CLI::App* AddVerb(CLI::App& program, const std::string& name, const std::string& description,
                  std::string_view examples);

// --json on a verb that prints.
void AddJsonFlag(CLI::App& verb, bool& json,
                 const std::string& description = "Print JSON instead of a table");

// For verbs that write the file after `option` and print JSON about it. kInvalidArgument if both
// would go to standard output.
Status CheckJsonHasRoom(bool json, const std::string& file, std::string_view option = "-o");

// --tag or --model (with --framework), --session, and --problem (repeatable), at least one of which
// must be given. Returns their group, which other ways to name problems may be added to. The
// application of `invocation` receives --session before the verb runs.
CLI::Option_group* AddSelectionOptions(CLI::App& verb, ProblemSelection& selection,
                                       Invocation& invocation);

// The same without --problem, for verbs that work on lists; none of them has to be given.
CLI::Option_group* AddListOptions(CLI::App& verb, ProblemSelection& selection,
                                  Invocation& invocation);

// --session alone, into `name`, and told in the same way.
CLI::Option* AddSessionOption(CLI::App& verb, std::string& name, Invocation& invocation,
                              const std::string& description);

// Writes `content` to `file` so that a crash leaves the old file or the new one; "-" is standard
// output. A failure names the argument of `option`.
Status WriteResult(Application& application, const std::string& file, std::string_view content,
                   std::string_view option = "-o");

// For a name of which at most `most_bytes` bytes are kept: a usage error says so of a longer one,
// and shows its beginning.
CLI::Validator NameWithin(size_t most_bytes);

// For a name that is kept: a usage error names the first byte that users cannot see or type, and
// its position, or reports that there are only blanks.
CLI::Validator SeenText();

// An option that takes a duration such as 500ms, 2s, 3m or 1h. Anything else is a usage error.
CLI::Option* AddDurationOption(CLI::App& verb, const std::string& name, int64_t& duration_ns,
                               const std::string& description);

// --seed. A sign or more than 64 bits is a usage error, where the parser alone would wrap around.
CLI::Option* AddSeedOption(CLI::App& verb, uint64_t& seed, const std::string& description);

// --jobs, --memory-limit and --run-deadline.
void AddLimitOptions(CLI::App& verb, WorkshopLimits& limits);

}  // namespace attune
