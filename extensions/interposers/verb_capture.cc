// attune capture: runs a program and makes kernel files of its launches.

#include <string.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "apps/attune/json_text.h"
#include "attune/base/file.h"
#include "attune/kernel/capture/capture_folder.h"
#include "attune/kernel/capture/new_folder.h"
#include "attune/kernel/capture/spool_format.h"
#include "extensions/interposers/captured_program.h"
#include "extensions/interposers/interposer_verbs.h"
#include "extensions/interposers/preload.h"

namespace attune {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kUsualMaxBytes = uint64_t{1} << 30;
constexpr uint64_t kMostLaunches = 1000;
constexpr size_t kMaxKernelNameBytes = 1000;

struct CaptureOptions {
  std::vector<std::string> kernels;
  uint64_t launch = 0;
  uint64_t count = 1;
  uint64_t max_bytes = kUsualMaxBytes;
  std::string folder = "captured";
  std::string json;
  std::vector<std::string> command;
};

// Adds the requested kernels that were never launched.
void AddWhatNeverCame(const CaptureOptions& options, capture::CaptureReport& report) {
  std::set<std::string> told;
  for (const auto& written : report.written) told.insert(written.kernel);
  for (const auto& refused : report.refused) told.insert(refused.kernel);
  for (const std::string& wanted : options.kernels) {
    const auto is_meant = [&](const std::string& kernel) {
      return capture::IsMeant(wanted, kernel);
    };
    if (std::any_of(told.begin(), told.end(), is_meant)) continue;
    uint64_t launches = 0;
    for (const auto& [kernel, count] : report.launches) launches += is_meant(kernel) ? count : 0;
    report.refused.push_back({wanted, launches == 0
                                          ? "no launch of it arrived"
                                          : fmt::format("it was launched {} times", launches)});
  }
  if (!options.kernels.empty() || options.launch == 0) return;
  for (const auto& [kernel, launches] : report.launches) {
    if (told.contains(kernel) || launches >= options.launch) continue;
    report.refused.push_back({kernel, fmt::format("it was launched {} times", launches)});
  }
}

Json JsonOf(const CaptureOptions& options, const ProgramEnd& end,
            const capture::CaptureReport& report) {
  Json captured = Json::array();
  for (const auto& written : report.written) {
    captured.push_back({{"kernel", written.kernel},
                        {"launch", written.number},
                        {"path", written.path.string()},
                        {"data_bytes", written.data_bytes},
                        {"packed_bytes", written.packed_bytes},
                        {"notes", written.notes}});
  }
  Json refused = Json::array();
  for (const auto& launch : report.refused) {
    refused.push_back({{"kernel", launch.kernel}, {"reason", launch.reason}});
  }
  Json launches = Json::object();
  for (const auto& [kernel, count] : report.launches) launches[kernel] = count;
  return {{"program", options.command}, {"exit_status", end.exit_status}, {"signal", end.signal},
          {"captured", captured},       {"not_captured", refused},        {"launches", launches}};
}

void PrintReport(const CaptureOptions& options, const ProgramEnd& end,
                 const capture::CaptureReport& report, Output& err) {
  const auto say = [&](const std::string& line) {
    err.Print(fmt::format("attune capture: {}\n", Printable(line)));
  };
  for (const auto& written : report.written) {
    const auto launches = report.launches.find(written.kernel);
    say(fmt::format(
        "{}, launch {}{}: {} bytes of data, {}.", written.kernel, written.number,
        launches == report.launches.end() ? "" : fmt::format(" of {}", launches->second),
        written.data_bytes, written.path.string()));
    for (const std::string& note : written.notes) say("  " + note);
  }
  for (const auto& refused : report.refused) {
    // Reasons of the library are clauses, those of files are sentences.
    say(fmt::format("Not captured: {}{}{}", refused.kernel.empty() ? "" : refused.kernel + ": ",
                    refused.reason, refused.reason.ends_with('.') ? "" : "."));
  }
  if (end.signal != 0) {
    say(fmt::format("The program was ended by signal {} ({}).", end.signal,
                    ::strsignal(end.signal)));
  }
  if (!report.written.empty()) {
    say(fmt::format("Next: attune tune --kernel {}",
                    ShellWord(report.written.front().path.string())));
  } else if (report.refused.empty()) {
    say(
        fmt::format("No launch of OpenCL or CUDA arrived from '{}'. It may launch nothing, or in a "
                    "process that it "
                    "left behind, or reach its driver in a way that is not seen (docs/capture.md).",
                    options.command[0]));
  }
}

Result<std::map<std::string, std::string>> VariablesOf(const CaptureOptions& options,
                                                       const std::string& library,
                                                       const fs::path& spool) {
  ATTUNE_ASSIGN_OR_RETURN(auto variables, PreloadVariables(library));
  variables.insert(
      {{capture::kSpoolVariable, spool.string()},
       {capture::kKernelsVariable, fmt::format("{}", fmt::join(options.kernels, "\n"))},
       {capture::kLaunchVariable, std::to_string(options.launch)},
       {capture::kCountVariable, std::to_string(options.count)},
       {capture::kMaxBytesVariable, std::to_string(options.max_bytes)}});
  return variables;
}

Result<int> Run(Application& application, const CaptureOptions& options) {
  ATTUNE_ASSIGN_OR_RETURN(
      const std::string library,
      FindPreloadLibrary("capture",
                         "It is built where the headers of OpenCL are. Install them and "
                         "build attune anew."));
  // The folder for the program's launches until it ends: beside the kernel files, where space is
  // available.
  std::error_code error;
  const fs::path folder = fs::absolute(options.folder, error);
  if (error) {
    return Unavailable(fmt::format("-o: Cannot find '{}': {}. Start attune in another folder.",
                                   options.folder, error.message()));
  }
  const auto spool = capture::NewFolder::Make(folder, ".launches");
  if (!spool.ok()) return spool.error().WithContext("-o");
  ATTUNE_ASSIGN_OR_RETURN(const auto variables, VariablesOf(options, library, (*spool)->path()));
  ATTUNE_ASSIGN_OR_RETURN(const ProgramEnd end, RunToItsEnd(options.command, variables));
  if (end.start_error != 0) {
    application.err().Print(fmt::format("attune capture: Cannot start '{}': {}.\n",
                                        Printable(options.command[0]),
                                        std::strerror(end.start_error)));
    return ExitStatusOfNoStart(end.start_error);
  }
  capture::CaptureReport report = capture::WriteCaptures((*spool)->path(), options.folder);
  AddWhatNeverCame(options, report);
  PrintReport(options, end, report, application.err());
  if (!options.json.empty()) {
    const Status written =
        WriteResult(application, options.json, Dump(JsonOf(options, end, report)), "--json");
    // The status is the program's own.
    if (!written.ok()) {
      application.err().Print(fmt::format("attune capture: {}\n", Printable(written.message())));
    }
  }
  return end.exit_status;
}

}  // namespace

void AddCaptureVerb(CLI::App& program, Invocation& invocation) {
  auto options = std::make_shared<CaptureOptions>();
  CLI::App* verb = AddVerb(
      program, "capture",
      "Run a program and store what it launches on OpenCL and CUDA, to be tuned with its own data",
      "  attune capture -- ./simulate input.dat && attune tune --kernel "
      "captured/advance/advance.json\n"
      "  attune capture --kernel advance --launch 100 --max-bytes 4G -o kernels -- ./simulate\n"
      "  attune capture --count 3 --json summary.json -- python3 script.py\n\n"
      "Each kernel file stands in a folder of its own, with its source and its data.\n"
      "Exit status: the program's, 128 and the signal's number if one ended it; 127 if it is not "
      "found,\n126 if it cannot be started. What could not be captured is said on standard error.");
  verb->add_option("--kernel", options->kernels,
                   "Only kernels of this name; may be repeated (default: all)")
      ->allow_extra_args(false)
      ->check(NameWithin(kMaxKernelNameBytes))
      ->check(SeenText())
      ->type_name("NAME");
  verb->add_option(
          "--launch", options->launch,
          "From the N-th launch of each kernel on (default: the first that changes a buffer)")
      ->check(CLI::Range(uint64_t{1}, UINT64_MAX))
      ->type_name("N");
  verb->add_option("--count", options->count,
                   "So many launches of each kernel, which differ in geometry, scalars or sizes "
                   "(default: 1)")
      ->check(CLI::Range(uint64_t{1}, kMostLaunches))
      ->type_name("N");
  verb->add_option("--max-bytes", options->max_bytes,
                   "None whose buffers have more bytes together, as 500M or 4G (default: 1G)")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(int64_t{1}, std::numeric_limits<int64_t>::max()))
      ->type_name("BYTES");
  verb->add_option("-o,--output", options->folder, "Folder of the kernel files (default: captured)")
      ->type_name("FOLDER");
  verb->add_option(
          "--json", options->json,
          "Write a summary as JSON to this file; - for standard output, behind what the program "
          "prints there")
      ->type_name("FILE");
  verb->add_option("program", options->command, "After '--': the program and its arguments")
      ->required();
  verb->callback([options, &invocation] {
    invocation.run = [options](Application& application) { return Run(application, *options); };
  });
}

}  // namespace attune
