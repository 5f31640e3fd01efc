// attune tunable: tunes the problems in files of TunableOp's format, on several devices.

#include <optional>

#include <fmt/format.h>

#include "apps/attune/counted.h"
#include "apps/attune/json_text.h"
#include "attune/base/process_variables.h"
#include "attune/tunable/file_names.h"
#include "extensions/tunable/tunable_verb.h"
#include "runtime/settings.h"
#include "runtime/tune_on_devices.h"

namespace attune {
namespace {

constexpr int64_t kNsPerMs = 1'000'000;

struct TunableVerbOptions {
  DeviceTuning tuning;
  std::string files;    // A file, or a pattern.
  std::string results;  // Empty: the name of the environment, or the default.
  int64_t per_problem_ns = 0;
  bool json = false;
};

// The options of a program started here.
Result<RuntimeOptions> RuntimeOptionsOf(Application& application,
                                        const TunableVerbOptions& options) {
  attune_options given = ATTUNE_OPTIONS_INIT;
  if (!application.named_database().empty()) given.database = application.named_database().c_str();
  // Rounds up, because 0 is the default.
  given.per_problem_ms = (options.per_problem_ns + kNsPerMs - 1) / kNsPerMs;
  ATTUNE_ASSIGN_OR_RETURN(RuntimeOptions settings, ReadSettings(&given, VariablesOfProcess()));
  settings.prints_summary = false;  // There are no calls to summarise.
  ATTUNE_ASSIGN_OR_RETURN(settings.tunable, TunableSwitches::FromEnvironment(VariablesOfProcess()));
  if (!options.results.empty()) {
    ATTUNE_RETURN_IF_ERROR(settings.tunable->SetFilename(options.results, true));
  }
  return settings;
}

Json ToJson(const TunableOpKey& key) { return {{"op", key.op}, {"params", key.params}}; }

Json ToJson(const OfflineReport& report) {
  Json json = {{"tuned", report.tuned},         {"known", report.known},
               {"wildcards", report.wildcards}, {"failed", Json::array()},
               {"unreadable", Json::array()},   {"failed_devices", Json::array()},
               {"files", Json::array()}};
  for (const auto& failed : report.failed) {
    Json entry = ToJson(failed.key);
    entry["reason"] = failed.status.message();
    json["failed"].push_back(std::move(entry));
  }
  for (const auto& line : report.unreadable) {
    json["unreadable"].push_back(
        {{"file", line.file.string()}, {"line", line.line}, {"reason", line.reason}});
  }
  for (const auto& failed : report.failed_devices) {
    Json entry = {{"device", failed.device},
                  {"reason", failed.status.message()},
                  {"without_result", Json::array()}};
    for (const TunableOpKey& key : failed.without_result) {
      entry["without_result"].push_back(ToJson(key));
    }
    json["failed_devices"].push_back(std::move(entry));
  }
  for (const auto& file : report.full_files) json["files"].push_back(file.string());
  return json;
}

std::string SummaryText(const OfflineReport& report) {
  std::string text = fmt::format("{} tuned, {} known before, {} without a result", report.tuned,
                                 report.known, report.failed.size());
  if (report.wildcards > 0)
    text += fmt::format(", {} of any size", Counted(report.wildcards, "line"));
  if (!report.unreadable.empty()) {
    text += fmt::format(", {} unreadable", Counted(report.unreadable.size(), "line"));
  }
  text += ".\n";
  for (const auto& file : report.full_files) text += Printable(file.string()) + "\n";
  return text;
}

int ExitStatusOf(const OfflineReport& report) {
  const bool is_complete =
      report.failed.empty() && report.failed_devices.empty() && report.unreadable.empty();
  if (is_complete) return kExitDone;
  return report.tuned + report.known > 0 ? kExitPartly : kExitFailed;
}

Result<int> RunTunable(Application& application, const TunableVerbOptions& options) {
  ATTUNE_ASSIGN_OR_RETURN(const RuntimeOptions settings, RuntimeOptionsOf(application, options));
  DeviceTuning tuning = options.tuning;
  if (HasWildcard(options.files)) {
    tuning.pattern = options.files;
  } else {
    tuning.file = options.files;
  }
  ATTUNE_ASSIGN_OR_RETURN(const OfflineReport report, TuneOnDevices(settings, tuning));
  application.out().Print(options.json ? Dump(ToJson(report)) : SummaryText(report));
  application.out().Flush();
  std::string complaints = Complaints(report);
  while (!complaints.empty()) {
    const size_t end = complaints.find('\n');
    application.err().Print(Printable(complaints.substr(0, end)) + "\n");
    complaints.erase(0, end == std::string::npos ? end : end + 1);
  }
  return ExitStatusOf(report);
}

}  // namespace

void AddTunableVerb(CLI::App& program, Invocation& invocation) {
  auto options = std::make_shared<TunableVerbOptions>();
  CLI::App* verb = AddVerb(
      program, "tunable",
      "Tune what programs recorded in untuned files of TunableOp's kind, on several devices",
      "  attune tunable attune_tunable_untuned0.csv --device cpu\n"
      "  attune tunable 'attune_tunable_untuned*.csv' --device cuda\n"
      "  attune tunable 'runs/*/tunableop_untuned?.csv' --device cuda --count 4 -o results.csv\n\n"
      "Each problem of all files is tuned once. results0.csv, results1.csv, ... are of the single "
      "devices;\n"
      "results_full0.csv, results_full1.csv, ... have the results of all of them. What results are "
      "there\n"
      "already is not tuned again, so that the same command goes on after Ctrl-C.\n"
      "Exit status: 0 if every line has a result, 3 if some have, 1 if none has.");
  verb->add_option("files", options->files,
                   "An untuned file, or a pattern of them (*, ?, [...]), in quotes")
      ->required()
      ->type_name("FILE|PATTERN");
  verb->add_option("--device", options->tuning.kind, "Kind of the devices: cuda, opencl, cpu")
      ->required()
      ->type_name("KIND");
  verb->add_option("--count", options->tuning.count,
                   "How many of them, the first ones (default: all)")
      ->type_name("N");
  verb->add_option("-o,--output", options->results,
                   "Name of the results, to which the number of the device is added (default: "
                   "$ATTUNE_TUNABLE_FILENAME, else attune_tunable_results.csv)")
      ->type_name("FILE");
  AddDurationOption(*verb, "--per-problem", options->per_problem_ns,
                    "Time for each problem (default: 2s)");
  AddJsonFlag(*verb, options->json);
  verb->callback([options, &invocation] {
    invocation.run = [options](Application& application) {
      return RunTunable(application, *options);
    };
  });
}

}  // namespace attune
