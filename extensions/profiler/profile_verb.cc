// attune profile: runs a list of profilers, one at a time on each device.

#include "extensions/profiler/profile_verb.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "apps/attune/counted.h"
#include "apps/attune/duration.h"
#include "apps/attune/interrupt.h"
#include "apps/attune/json_text.h"
#include "apps/attune/table.h"
#include "attune/base/file.h"
#include "attune/base/split.h"
#include "attune/base/steady_time.h"
#include "attune/library/command_file.h"
#include "attune/library/profiler_runner.h"
#include "attune/library/result_journal.h"
#include "runtime/profiled_devices.h"

namespace attune {
namespace {

struct ProfileOptions {
  std::vector<std::string> devices = {"0"};
  std::string file;
  std::string journal;  // Empty: none.
  ProfilerTerms terms;
  bool any_output = false;
  bool json = false;
};

// The results of all commands, by their place in the list. Callbacks write to it, one at a time.
struct ProfileRun {
  ProfileRun(Application& of, const CommandList& commands)
      : application(of), list(commands), results(commands.commands.size()) {}

  Application& application;
  const CommandList& list;
  std::unique_ptr<ResultJournal> journal;
  std::vector<Json> results;
  size_t resumed = 0;
  size_t ended = 0;  // In this run.
  int64_t begin_ns = SteadyNowNs();
  Status kept;  // The first error of the journal.
  std::atomic<bool> goes_on{true};
};

const Json* FastestOp(const Json& result) {
  const Json* fastest = nullptr;
  for (const Json& op : result["ops"]) {
    if (fastest == nullptr || op["time_ms"] < (*fastest)["time_ms"]) fastest = &op;
  }
  return fastest;
}

bool IsDone(const Json& result) { return result["fate"] == Name(ProfilerFate::kDone); }

std::string TimeText(const Json& op) {
  constexpr double kNsPerMs = 1e6;
  return FormatTime(op["time_ms"].get<double>() * kNsPerMs);
}

std::string WordsOn(const Json& result) {
  if (!IsDone(result)) return Printable(result["message"].get<std::string>());
  const Json* op = FastestOp(result);
  if (op == nullptr) return "done";
  const auto name = (*op)["name"].get<std::string>();
  return TimeText(*op) + (name.empty() ? "" : " " + Printable(name));
}

void ShowProgress(ProfileRun& run, const Json& result) {
  const size_t all = run.list.commands.size();
  const size_t left = all - run.resumed - run.ended;
  const int64_t each_ns = (SteadyNowNs() - run.begin_ns) / static_cast<int64_t>(run.ended);
  const std::string wait =
      left == 0 ? "" : fmt::format(", {} left", FormatWait(each_ns * static_cast<int64_t>(left)));
  const auto device = result["device"].get<std::string>();
  run.application.err().Print(
      fmt::format("[{}/{}{}] line {}{}: {}\n", all - left, all, wait, result["line"].get<int>(),
                  device.empty() ? "" : " on " + Printable(device), WordsOn(result)));
}

void TakeOutcome(ProfileRun& run, size_t place, const ProfilerOutcome& outcome) {
  Json result = ToJson(run.list.commands[place], outcome);
  ++run.ended;
  if (outcome.fate != ProfilerFate::kStopped) {
    if (run.journal != nullptr && run.kept.ok()) run.kept = run.journal->Append(result);
    // A result that cannot be kept is not worth device time.
    if (!run.kept.ok()) run.goes_on = false;
    ShowProgress(run, result);
  }
  run.results[place] = std::move(result);
}

std::string ResultTable(Application& application, const std::vector<Json>& results) {
  Table table({{"line", Column::Align::kRight},
               {"device"},
               {"fate"},
               {"time", Column::Align::kRight},
               {"workspace", Column::Align::kRight},
               {"fastest of", Column::Align::kRight},
               {"operation or reason", Column::Align::kLeft, Column::Fit::kCut}});
  for (const Json& result : results) {
    const Json* op = IsDone(result) ? FastestOp(result) : nullptr;
    const std::string words = op != nullptr    ? Printable((*op)["name"].get<std::string>())
                              : IsDone(result) ? ""
                                               : Printable(result["message"].get<std::string>());
    table.AddRow({fmt::format("{}", result["line"].get<int>()),
                  Printable(result["device"].get<std::string>()),
                  Printable(result["fate"].get<std::string>()), op == nullptr ? "" : TimeText(*op),
                  op == nullptr ? "" : fmt::format("{}", (*op)["workspace_bytes"].get<int64_t>()),
                  op == nullptr ? "" : fmt::format("{}", result["ops"].size()), words},
                 IsDone(result) ? Colour::kPlain : Colour::kRed);
  }
  return table.Render(application.out().screen(), application.out().width());
}

// Prints the results; returns the exit status.
int Report(const ProfileRun& run, const ProfilerRunner::Joined& joined, bool json) {
  const auto done =
      static_cast<size_t>(std::count_if(run.results.begin(), run.results.end(), IsDone));
  const size_t all = run.results.size();
  Output& out = run.application.out();
  if (json) {
    Json document = {{"commands", all},           {"done", done},
                     {"failed", all - done},      {"resumed", run.resumed},
                     {"retired", joined.retired}, {"results", run.results}};
    out.Print(Dump(document));
  } else {
    out.Print(ResultTable(run.application, run.results));
    out.Print(fmt::format("{} of {} done", done, Counted(all, "command")));
    if (run.resumed > 0) out.Print(fmt::format(", {} of them before", run.resumed));
    out.Print(".\n");
  }
  out.Flush();
  for (const auto& [device, reason] : joined.retired) {
    run.application.err().Print(fmt::format("Device {} was given no more commands: {}\n",
                                            Printable(device), Printable(reason)));
  }
  for (const std::string& thrown : joined.thrown) {
    run.application.err().Print(Printable(thrown) + "\n");
  }
  if (done == all) return kExitDone;
  return done > 0 ? kExitPartly : kExitFailed;
}

// Pushes the commands that an earlier run did not finish; the others have results already.
void PushAll(ProfileRun& run, ProfilerRunner& runner) {
  std::vector<size_t> open;
  for (size_t place = 0; place < run.list.commands.size(); ++place) {
    auto kept =
        run.journal == nullptr ? std::nullopt : run.journal->TakeDone(run.list.commands[place]);
    if (!kept.has_value()) {
      open.push_back(place);
      continue;
    }
    run.results[place] = std::move(*kept);
    ++run.resumed;
  }
  for (const size_t place : open) {
    const CommandLine& command = run.list.commands[place].command;
    runner.Push({command.words, command.variables}, [&run, place](const ProfilerOutcome& outcome) {
      TakeOutcome(run, place, outcome);
    });
  }
}

Result<CommandList> ListOf(Application& application, const std::string& file) {
  ATTUNE_ASSIGN_OR_RETURN(const std::string text, ReadFile(file == "-" ? "/dev/stdin" : file));
  CommandList list = ReadCommands(text);
  for (const std::string& complaint : list.complaints) {
    application.err().Print(Printable(file + ":" + complaint) + "\n");
  }
  if (!list.complaints.empty()) {
    return InvalidArgument(fmt::format("Nothing was run, because {} cannot be read.",
                                       Counted(list.complaints.size(), "line")));
  }
  if (list.commands.empty()) {
    return InvalidArgument(fmt::format("'{}' has no commands, one on each line.", file));
  }
  return list;
}

// The names in comma-separated lists, including empty ones, which the parser of options drops.
std::vector<std::string> DeviceNames(const std::vector<std::string>& lists) {
  std::vector<std::string> names;
  for (const std::string& list : lists) {
    for (const std::string_view name : SplitAt(list, ',')) names.emplace_back(name);
  }
  return names;
}

Result<int> RunProfile(Application& application, const ProfileOptions& options) {
  if (options.terms.deadline_ns == 0) {
    return InvalidArgument(
        "--deadline: 0 would kill each command before it has begun. Give the longest that a run "
        "may take, as 30s.");
  }
  ATTUNE_ASSIGN_OR_RETURN(const CommandList list, ListOf(application, options.file));
  ATTUNE_ASSIGN_OR_RETURN(const auto devices, ProfiledDevices::Open(DeviceNames(options.devices),
                                                                    application.lazy_backends()));
  ProfileRun run(application, list);
  if (!options.journal.empty()) {
    ATTUNE_ASSIGN_OR_RETURN(run.journal, ResultJournal::Open(options.journal));
  }
  const OrderlyInterruption interruption;
  ProfilerHooks hooks;
  hooks.go_on = [&] { return run.goes_on.load() && !interruption.requested(); };
  hooks.take = [&](const std::string& device) { return devices.Take(device, hooks.go_on); };
  ProfilerTerms terms = options.terms;
  terms.wants_ops = !options.any_output;
  ProfilerRunner::Joined joined;
  {
    ProfilerRunner runner(devices.list(), terms, hooks);
    PushAll(run, runner);
    joined = runner.Join();
  }
  const int status = Report(run, joined, options.json);
  if (!run.kept.ok()) return run.kept;
  return status;
}

constexpr const char* kExamples =
    "  attune profile --devices 0,1 --file commands.txt -o results.jsonl\n"
    "  attune profile --file commands.txt --deadline 10s --attempts 1 --json\n\n"
    "Each line of the file is a command with its arguments, in quotes where they have blanks, "
    "with\n"
    "NAME=VALUE before it for variables; '#' begins a remark. No shell runs it. Each runs on one\n"
    "device, which CUDA_VISIBLE_DEVICES and HIP_VISIBLE_DEVICES name, alone there among all that\n"
    "attune measures. It prints OP:NAME,TIME:MS,WS:BYTES for each operation that it timed.\n"
    "With -o, what was done is not done again.\n"
    "Exit status: 0 if every command is done, 3 if some are, 1 if none is.";

}  // namespace

void AddProfileVerb(CLI::App& program, Invocation& invocation) {
  auto options = std::make_shared<ProfileOptions>();
  CLI::App* verb = AddVerb(program, "profile",
                           "Run a list of profilers, one at a time on each device", kExamples);
  verb->add_option("--file", options->file, "The commands; - is standard input")
      ->required()
      ->type_name("FILE");
  verb->add_option("--devices", options->devices,
                   "Ordinals or names of the devices, separated by commas")
      ->capture_default_str()
      ->type_name("DEVICE,...");
  verb->add_option("-o,--output", options->journal,
                   "Keep results here as they come, and go on from those that are there")
      ->type_name("FILE");
  AddDurationOption(*verb, "--deadline", options->terms.deadline_ns,
                    "When a run is killed (default: 30s)");
  verb->add_option("--attempts", options->terms.attempts,
                   "Runs of a command that dies or fails, at the most")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  verb->add_flag("--any-output", options->any_output,
                 "A command that ends well is done, whatever it prints");
  AddJsonFlag(*verb, options->json);
  verb->callback([options, &invocation] {
    invocation.run = [options](Application& application) {
      return RunProfile(application, *options);
    };
  });
}

}  // namespace attune
