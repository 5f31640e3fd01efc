#include "apps/attune/session/job_summary.h"

#include <algorithm>

#include <fmt/format.h>

#include "apps/attune/application.h"
#include "apps/attune/counted.h"

namespace attune {
namespace {

// Failures of earlier runs, or of other processes.
int64_t FailedElsewhere(const JobRunSummary& summary) {
  return summary.open.has_value() ? std::max<int64_t>(summary.open->failed - summary.failed, 0) : 0;
}

// A sentence, or nothing.
std::string WhyStopped(const JobRunSummary& summary) {
  if (!summary.stopped_because.empty()) return summary.stopped_because;
  if (summary.open.has_value() && summary.open->left == 0) return "";
  if (summary.was_interrupted)
    return "The run was interrupted; the same command goes on from here.";
  if (!summary.device_is_elsewhere) return "";
  return "What is left has to be measured on the device of the session, or after it, and that is "
         "not "
         "here. 'attune devices' says what is missing.";
}

}  // namespace

Json ToJson(const JobRunSummary& summary) {
  return {
      {"compile_threads", summary.compile_threads},
      {"requeued", summary.queued.requeued},
      {"added", summary.queued.added},
      {"new_problems", summary.queued.new_problems},
      {"done", summary.done},
      {"failed", summary.failed},
      {"given_back", summary.given_back},
      {"lost", summary.lost},
      {"failed_before", FailedElsewhere(summary)},
      {"left", summary.open.has_value() ? Json(summary.open->left) : Json(nullptr)},
      {"problems_without_jobs", summary.problems_without_jobs},
      {"stopped_because", summary.failure.ok() ? WhyStopped(summary) : summary.failure.message()},
      {"failures", summary.failures},
      {"troubles", summary.troubles}};
}

std::string Text(const JobRunSummary& summary) {
  std::string text;
  const StaleQueue& queued = summary.queued;
  if (queued.requeued > 0) {
    text += queued.requeued == 1
                ? std::string("1 job was stale and is done again.\n")
                : fmt::format("{} jobs were stale and are done again.\n", queued.requeued);
  }
  if (queued.added > 0) {
    text += fmt::format("{} added for {}.\n",
                        queued.added == 1 ? "1 job was" : fmt::format("{} jobs were", queued.added),
                        Counted(queued.new_problems, "new problem"));
  }
  text += fmt::format("{} done, {} failed", Counted(summary.done, "job"), summary.failed);
  if (summary.given_back > 0) text += fmt::format(", {} given back", summary.given_back);
  if (summary.lost > 0) text += fmt::format(", {} taken from here meanwhile", summary.lost);
  text += summary.open.has_value() ? fmt::format(", {} left.\n", summary.open->left)
                                   : std::string(", and nobody can say how many are left.\n");
  for (const auto& [kind, count] : summary.failures) {
    text += fmt::format("{} failed: {}\n", count, kind);
  }
  if (const int64_t failed = FailedElsewhere(summary); failed > 0) {
    text += fmt::format(
        "{} of these steps, or of the compiling that they wait for, failed before; 'attune jobs "
        "list --state failed' says why, 'attune jobs retry' queues them again.\n",
        Counted(failed, "job"));
  }
  if (summary.problems_without_jobs > 0) {
    text += fmt::format(
        "{} of the session {} no jobs; --stale queues those that are new, 'attune jobs load' "
        "any.\n",
        Counted(summary.problems_without_jobs, "problem"),
        summary.problems_without_jobs == 1 ? "has" : "have");
  }
  if (const std::string why = WhyStopped(summary); !why.empty()) text += why + "\n";
  return text;
}

int ExitStatusOf(const JobRunSummary& summary) {
  const bool nothing_is_open =
      summary.open.has_value() && summary.open->left == 0 && FailedElsewhere(summary) == 0;
  if (summary.failed == 0 && nothing_is_open) return kExitDone;
  const bool was_in_vain = summary.failed > 0 || !summary.stopped_because.empty();
  return summary.done == 0 && was_in_vain ? kExitFailed : kExitPartly;
}

}  // namespace attune
