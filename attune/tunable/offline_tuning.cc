#include "attune/tunable/offline_tuning.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "attune/base/file.h"
#include "attune/base/guest_thread.h"
#include "attune/tunable/file_names.h"

namespace attune {
namespace {

// Limit for each kind of complaint. A message of the C interface has 8192 bytes.
constexpr size_t kMostNamed = 50;
// A tuner that dies or never answers so often, one problem after the other, has a device that is
// gone; each further problem could cost minutes.
constexpr int kMostDeadInARow = 3;

// The lines of several files.
struct UntunedProblems {
  std::vector<UntunedProblem> problems;  // Each once.
  std::vector<OfflineReport::Unreadable> unreadable;
  int64_t wildcards = 0;
  std::unordered_set<std::string> seen;  // IdentityOf(problems)

  void Add(const std::filesystem::path& file, std::string_view content) {
    UntunedList list = ParseUntunedFile(content);
    for (UntunedProblem& untuned : list.problems) {
      if (seen.insert(IdentityOf(untuned)).second) problems.push_back(std::move(untuned));
    }
    for (UnreadableLine& line : list.unreadable) {
      unreadable.push_back({file, line.line, std::move(line.reason)});
    }
    wildcards += list.wildcards;
  }
};

// Gives `untuned` a result, by tuning unless there is one.
Result<TuneOutcome> TuneOne(const UntunedProblem& untuned, TunableContext& context) {
  const ResultChoices& choices = context.result_choices();
  if (const auto hit = choices.FindConcrete(untuned.problem)) {
    const bool is_named = choices.table().Has(untuned.key, hit->result.line.problem_text) ||
                          choices.table().Has(untuned.key, Text(untuned.problem));
    if (is_named) return TuneOutcome::kKnown;
    constexpr double kNsPerMs = 1e6;
    const TunedCandidate known{hit->candidate,
                               hit->result.line.milliseconds.value_or(0) * kNsPerMs};
    ATTUNE_RETURN_IF_ERROR(context.AddResult(untuned.problem, known, {}, untuned.key));
    return TuneOutcome::kKnown;
  }
  ATTUNE_ASSIGN_OR_RETURN(const TuneOutcome outcome, context.TuneMiss(untuned.problem));
  if (outcome == TuneOutcome::kTuned && untuned.key != NamesOf(untuned.problem)) {
    // Tuned under our names; the line has others, as those of an old release.
    return TuneOne(untuned, context);
  }
  return outcome;
}

Status RequireTuning(const TunableContext& context) {
  if (context.actions().tune_on_miss) return Status::Ok();
  return FailedPrecondition(
      fmt::format("Tuning off line needs {0}ENABLED=1 and {0}TUNING=1.", kTunablePrefix));
}

bool IsDead(const Status& status) {
  return status.code() == StatusCode::kUnavailable ||
         status.code() == StatusCode::kDeadlineExceeded;
}

// Result of one share.
struct ShareReport {
  int64_t tuned = 0;
  int64_t known = 0;
  std::vector<OfflineReport::Failed> failed;
};

ShareReport TuneShare(const std::vector<UntunedProblem>& share, TunableContext& context) {
  context.choices();
  ShareReport report;
  int dead_in_a_row = 0;
  const int64_t tuned_before = context.counters().tuned;
  for (const UntunedProblem& untuned : share) {
    if (dead_in_a_row == kMostDeadInARow) {
      report.failed.push_back({untuned.key, Unavailable("The device was given up before.")});
      continue;
    }
    const int64_t tuned = context.counters().tuned;
    const auto outcome = TuneOne(untuned, context);
    if (!outcome.ok()) {
      report.failed.push_back({untuned.key, outcome.error()});
    } else if (context.counters().tuned == tuned) {
      ++report.known;
    }
    dead_in_a_row = IsDead(outcome.status()) ? dead_in_a_row + 1 : 0;
  }
  report.tuned = context.counters().tuned - tuned_before;
  return report;
}

Result<UntunedProblems> ReadUntuned(std::span<const std::filesystem::path> files) {
  UntunedProblems all;
  for (const std::filesystem::path& file : files) {
    ATTUNE_ASSIGN_OR_RETURN(const std::string content, ReadFileAtOnce(file));
    all.Add(file, content);
  }
  return all;
}

// The settings that name the files of all devices: those of the first that is open.
Result<TunableSettings> CommonSettings(std::span<const OfflineDevice> devices) {
  if (devices.empty()) return InvalidArgument("Tuning files needs at least one run time.");
  for (const OfflineDevice& device : devices) {
    if (!device.context.ok()) continue;
    return (*device.context)->settings();
  }
  return devices.front().context.error().WithContext(
      fmt::format("None of {} devices can be used; {}", devices.size(), devices.front().name));
}

std::filesystem::path FullFileOf(const OfflineDevice& device, const TunableSettings& common) {
  const std::string name =
      device.context.ok() ? (*device.context)->settings().filename : common.filename;
  return FullResultsName(name, device.ordinal);
}

// Where results go.
std::vector<std::filesystem::path> OutputsOf(std::span<const OfflineDevice> devices,
                                             const TunableSettings& common) {
  std::vector<std::filesystem::path> outputs;
  for (const OfflineDevice& device : devices) {
    outputs.push_back(FullFileOf(device, common));
    if (device.context.ok()) outputs.emplace_back((*device.context)->results_filename());
  }
  return outputs;
}

// Checked before tuning spends time on results that cannot be written.
Status CheckFolders(std::span<const std::filesystem::path> outputs) {
  for (const std::filesystem::path& output : outputs) {
    const std::filesystem::path parent = output.parent_path();
    const std::filesystem::path folder = parent.empty() ? "." : parent;
    std::error_code ignored;
    if (!std::filesystem::is_directory(folder, ignored)) {
      return InvalidArgument(fmt::format("Results cannot be written to '{}': '{}' is no folder.",
                                         output.string(), folder.string()));
    }
    if (::access(folder.c_str(), W_OK | X_OK) != 0) {
      return Unavailable(fmt::format("Results cannot be written to '{}': {}.", output.string(),
                                     std::strerror(errno)));
    }
  }
  return Status::Ok();
}

// The untuned files, and the pattern that they match; empty for a file that was named.
struct UntunedFiles {
  std::vector<std::filesystem::path> files;
  std::string pattern;
};

// The next such call would read an output among the inputs as something to tune.
Status RefuseOutputs(const UntunedFiles& untuned, std::span<const std::filesystem::path> outputs) {
  for (const std::filesystem::path& output : outputs) {
    const bool is_read = std::ranges::any_of(untuned.files, [&](const std::filesystem::path& file) {
      std::error_code ignored;
      return std::filesystem::equivalent(file, output, ignored);
    });
    const std::string& pattern = untuned.pattern;
    if (is_read && pattern.empty()) {
      return InvalidArgument(fmt::format(
          "cannot write results to '{}': it is the file of untuned problems. Name another file.",
          output.string()));
    }
    if (!is_read && (pattern.empty() || !IsLike(pattern, output))) continue;
    return InvalidArgument(
        fmt::format("The pattern '{}' matches '{}', too, which results are written to; give the "
                    "results another name, or match less.",
                    pattern, output.string()));
  }
  return Status::Ok();
}

std::vector<ShareReport> TuneShares(const std::vector<std::vector<UntunedProblem>>& shares,
                                    std::span<const OfflineDevice> devices) {
  std::vector<ShareReport> parts(devices.size());
  std::vector<GuestThread> threads(devices.size());
  for (size_t i = 0; i < devices.size(); ++i) {
    if (devices[i].context.ok()) {
      const auto tune = [&, i] { parts[i] = TuneShare(shares[i], **devices[i].context); };
      // Without a thread, tune the devices one after the other.
      if (!threads[i].Start(tune)) tune();
    } else {
      for (const UntunedProblem& untuned : shares[i]) {
        parts[i].failed.push_back({untuned.key, devices[i].context.error()});
      }
    }
  }
  threads.clear();  // Waits for all.
  return parts;
}

void NoteFailure(const OfflineDevice& device, Status status, const ShareReport& part,
                 OfflineReport& report) {
  OfflineReport::FailedDevice failed{device.name, std::move(status), {}};
  for (const auto& problem : part.failed) failed.without_result.push_back(problem.key);
  report.failed_devices.push_back(std::move(failed));
}

void Add(const OfflineDevice& device, ShareReport part, OfflineReport& report) {
  // A problem that no solver computes is no fault of the device.
  const auto fault = std::ranges::find_if(part.failed, [](const OfflineReport::Failed& failed) {
    return failed.status.code() != StatusCode::kUnsupported;
  });
  if (!device.context.ok()) {
    NoteFailure(device, device.context.error(), part, report);
  } else if (part.tuned == 0 && part.known == 0 && fault != part.failed.end()) {
    NoteFailure(device, fault->status, part, report);
  }
  report.tuned += part.tuned;
  report.known += part.known;
  std::ranges::move(part.failed, std::back_inserter(report.failed));
}

// Each device's own file, and then the union for each.
Status WriteFullResults(std::span<const OfflineDevice> devices, const TunableSettings& common,
                        OfflineReport& report) {
  std::vector<std::filesystem::path> sources;
  for (const OfflineDevice& device : devices) {
    report.full_files.push_back(FullFileOf(device, common));
    if (!device.context.ok()) continue;
    // A device with a known or failed share has written nothing yet.
    Status written = (*device.context)->WriteResults();
    if (written.ok()) {
      sources.emplace_back((*device.context)->results_filename());
    } else {
      NoteFailure(device, std::move(written), {}, report);
    }
  }
  if (sources.empty()) report.full_files.clear();
  return MergeResultsFiles(sources, report.full_files);
}

template <class Things, class Say>
std::string Sentences(const Things& things, std::string_view between, const Say& say) {
  std::string text;
  for (size_t i = 0; i < std::min(things.size(), kMostNamed); ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : between, say(things[i]));
  }
  if (things.size() > kMostNamed) {
    text += fmt::format("{}and {} more", between, things.size() - kMostNamed);
  }
  return text;
}

std::string NameOf(const TunableOpKey& key) { return fmt::format("{},{}", key.op, key.params); }

std::string Sentence(const OfflineReport::FailedDevice& failed) {
  std::string text = fmt::format("{} failed: {}", failed.device, failed.status.message());
  if (failed.without_result.empty()) return text;
  return text +
         fmt::format(" Without a result: {}.", Sentences(failed.without_result, "; ", NameOf));
}

Result<OfflineReport> Tune(const UntunedFiles& from, std::span<const OfflineDevice> devices) {
  ATTUNE_ASSIGN_OR_RETURN(const TunableSettings common, CommonSettings(devices));
  for (const OfflineDevice& device : devices) {
    if (device.context.ok()) ATTUNE_RETURN_IF_ERROR(RequireTuning(**device.context));
  }
  const std::vector<std::filesystem::path> outputs = OutputsOf(devices, common);
  ATTUNE_RETURN_IF_ERROR(RefuseOutputs(from, outputs));
  ATTUNE_RETURN_IF_ERROR(CheckFolders(outputs));
  ATTUNE_ASSIGN_OR_RETURN(UntunedProblems untuned, ReadUntuned(from.files));
  std::vector<ShareReport> parts = TuneShares(Deal(untuned.problems, devices.size()), devices);
  OfflineReport report;
  report.unreadable = std::move(untuned.unreadable);
  report.wildcards = untuned.wildcards;
  for (size_t i = 0; i < devices.size(); ++i) Add(devices[i], std::move(parts[i]), report);
  ATTUNE_RETURN_IF_ERROR(WriteFullResults(devices, common, report));
  return report;
}

}  // namespace

std::string Complaints(const OfflineReport& report) {
  std::unordered_set<std::string> of_devices;
  for (const auto& device : report.failed_devices) {
    for (const TunableOpKey& key : device.without_result) of_devices.insert(NameOf(key));
  }
  std::vector<OfflineReport::Failed> others;
  std::ranges::copy_if(report.failed, std::back_inserter(others), [&](const auto& failed) {
    return !of_devices.contains(NameOf(failed.key));
  });
  std::vector<std::string> parts = {
      Sentences(report.failed_devices, "\n", [](const auto& failed) { return Sentence(failed); }),
      Sentences(others, "\n",
                [](const auto& failed) {
                  return fmt::format("{}: {}", NameOf(failed.key), failed.status.message());
                }),
      Sentences(report.unreadable, "\n", [](const auto& line) {
        return fmt::format("{}:{}: {}", line.file.string(), line.line, line.reason);
      })};
  std::erase(parts, "");
  return fmt::format("{}", fmt::join(parts, "\n"));
}

Status StatusOf(const OfflineReport& report) {
  return report.failed_devices.empty() ? Status::Ok() : Unavailable(Complaints(report));
}

Result<OfflineReport> TuneFile(const std::filesystem::path& path, TunableContext& context) {
  ATTUNE_RETURN_IF_ERROR(RequireTuning(context));
  ATTUNE_ASSIGN_OR_RETURN(const std::string content, ReadFile(path));
  UntunedProblems untuned;
  untuned.Add(path, content);
  ShareReport share = TuneShare(untuned.problems, context);
  OfflineReport report;
  report.tuned = share.tuned;
  report.known = share.known;
  report.failed = std::move(share.failed);
  report.unreadable = std::move(untuned.unreadable);
  report.wildcards = untuned.wildcards;
  return report;
}

std::vector<std::vector<UntunedProblem>> Deal(const std::vector<UntunedProblem>& problems,
                                              size_t hands) {
  std::vector<std::vector<UntunedProblem>> dealt(hands);
  // The lines of an old and a new release may be of one problem, which is tuned once.
  std::unordered_map<std::string, size_t> hand_of;
  for (const UntunedProblem& untuned : problems) {
    const auto [hand, is_new] = hand_of.emplace(Text(untuned.problem), hand_of.size() % hands);
    dealt[hand->second].push_back(untuned);
  }
  return dealt;
}

std::string FullResultsName(const std::string& filename, int ordinal) {
  return WithInsertion(filename, fmt::format("_full{}", ordinal));
}

OfflineDevice DeviceOf(TunableContext& context) {
  const TunableParts& parts = context.parts();
  return {fmt::format("{}:{}", parts.here.target.backend, parts.device_ordinal),
          parts.device_ordinal, &context};
}

Result<OfflineReport> TuneFiles(const std::string& pattern,
                                std::span<const OfflineDevice> devices) {
  ATTUNE_ASSIGN_OR_RETURN(auto files, FilesLike(pattern));
  return Tune({std::move(files), pattern}, devices);
}

Result<OfflineReport> TuneFileOn(const std::filesystem::path& file,
                                 std::span<const OfflineDevice> devices) {
  return Tune({{file}, ""}, devices);
}

}  // namespace attune
