#include "attune/tunable/offline_tuning.h"

#include <optional>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "attune/base/file.h"
#include "attune/tunable/file_names.h"

namespace attune {
namespace {

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

void Add(const OfflineReport& part, OfflineReport& sum) {
  sum.tuned += part.tuned;
  sum.known += part.known;
  sum.wildcards += part.wildcards;
  sum.failed.insert(sum.failed.end(), part.failed.begin(), part.failed.end());
  sum.unreadable.insert(sum.unreadable.end(), part.unreadable.begin(), part.unreadable.end());
}

Status RequireTuning(const TunableContext& context) {
  if (context.actions().tune_on_miss) return Status::Ok();
  return FailedPrecondition(
      fmt::format("Tuning off line needs {0}ENABLED=1 and {0}TUNING=1.", kTunablePrefix));
}

Status WriteFullResults(std::span<TunableContext* const> contexts) {
  std::vector<std::filesystem::path> sources;
  for (TunableContext* const context : contexts) {
    // A device whose share was known or failed has written nothing.
    ATTUNE_RETURN_IF_ERROR(context->WriteResults());
    sources.emplace_back(context->results_filename());
  }
  for (TunableContext* const context : contexts) {
    ATTUNE_RETURN_IF_ERROR(MergeResultsFiles(sources, FullResultsName(*context)));
  }
  return Status::Ok();
}

}  // namespace

Result<OfflineReport> TuneList(const UntunedList& list, TunableContext& context) {
  ATTUNE_RETURN_IF_ERROR(RequireTuning(context));
  context.choices();
  OfflineReport report;
  report.unreadable = list.unreadable;
  report.wildcards = list.wildcards;
  const int64_t tuned_before = context.counters().tuned;
  for (const UntunedProblem& untuned : list.problems) {
    const int64_t tuned = context.counters().tuned;
    const auto outcome = TuneOne(untuned, context);
    if (!outcome.ok()) {
      report.failed.push_back({untuned.key, outcome.error().message()});
    } else if (context.counters().tuned == tuned) {
      ++report.known;
    }
  }
  report.tuned = context.counters().tuned - tuned_before;
  return report;
}

Result<OfflineReport> TuneFile(const std::filesystem::path& path, TunableContext& context) {
  ATTUNE_RETURN_IF_ERROR(RequireTuning(context));
  ATTUNE_ASSIGN_OR_RETURN(const std::string content, ReadFile(path));
  return TuneList(ParseUntunedFile(content), context);
}

std::vector<UntunedList> Deal(const UntunedList& list, size_t hands) {
  std::vector<UntunedList> dealt(hands);
  for (size_t i = 0; i < list.problems.size(); ++i) {
    dealt[i % hands].problems.push_back(list.problems[i]);
  }
  dealt.front().unreadable = list.unreadable;
  dealt.front().wildcards = list.wildcards;
  return dealt;
}

std::string FullResultsName(const TunableContext& context) {
  return WithInsertion(context.settings().filename,
                       fmt::format("_full{}", context.parts().device_ordinal));
}

Result<OfflineReport> TuneFiles(std::span<const std::filesystem::path> files,
                                std::span<TunableContext* const> contexts) {
  if (contexts.empty()) return InvalidArgument("Tuning files needs at least one run time.");
  std::string content;
  for (const std::filesystem::path& file : files) {
    ATTUNE_ASSIGN_OR_RETURN(const std::string lines, ReadFile(file));
    content += lines + "\n";
  }
  const auto shares = Deal(ParseUntunedFile(content), contexts.size());
  std::vector<std::optional<Result<OfflineReport>>> parts(contexts.size());
  {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < contexts.size(); ++i) {
      threads.emplace_back([&, i] { parts[i] = TuneList(shares[i], *contexts[i]); });
    }
  }
  OfflineReport report;
  for (const auto& part : parts) {
    if (!part->ok()) return part->error();
    Add(**part, report);
  }
  ATTUNE_RETURN_IF_ERROR(WriteFullResults(contexts));
  return report;
}

}  // namespace attune
