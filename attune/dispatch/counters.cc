#include "attune/dispatch/counters.h"

#include <string_view>

#include <fmt/format.h>

namespace attune {
namespace {

template <class Number>
void AppendMetric(std::string& text, std::string_view name, std::string_view help, Number value,
                  std::string_view unit_suffix = "_total") {
  fmt::format_to(std::back_inserter(text),
                 "# HELP attune_{0}{1} {2}\n# TYPE attune_{0}{1} counter\nattune_{0}{1} {3}\n",
                 name, unit_suffix, help, value);
}

double Seconds(int64_t ns) { return static_cast<double>(ns) * 1e-9; }

}  // namespace

std::string PrometheusText(const ServerCounters& counters) {
  std::string text;
  AppendMetric(text, "hits", "Calls whose plan was at hand.", counters.hits);
  text +=
      "# HELP attune_misses_total Calls whose plan had to be looked for, by what served them.\n"
      "# TYPE attune_misses_total counter\n";
  for (int i = 0; i < kOriginCount; ++i) {
    fmt::format_to(std::back_inserter(text), "attune_misses_total{{provenance=\"{}\"}} {}\n",
                   Name(static_cast<Origin>(i)), counters.misses_by_origin[static_cast<size_t>(i)]);
  }
  fmt::format_to(std::back_inserter(text), "attune_misses_total{{provenance=\"none\"}} {}\n",
                 counters.failures);
  text +=
      "# HELP attune_misses_by_reason_total The same calls, by why no plan was at hand.\n"
      "# TYPE attune_misses_by_reason_total counter\n";
  for (int i = 0; i < kMissReasonCount; ++i) {
    fmt::format_to(std::back_inserter(text), "attune_misses_by_reason_total{{reason=\"{}\"}} {}\n",
                   Name(static_cast<MissReason>(i)),
                   counters.misses_by_reason[static_cast<size_t>(i)]);
  }
  AppendMetric(text, "stand_ins", "Misses served while the better candidate was made ready.",
               counters.stand_ins);
  AppendMetric(text, "skipped_records", "Records that cannot be used here.",
               counters.skipped_records);
  AppendMetric(text, "tunings", "Problems tuned on a miss.", counters.tunings);
  AppendMetric(text, "tuning_failures", "Tunings that failed.", counters.tuning_failures);
  AppendMetric(text, "tunings_dropped", "Tunings that found the queue full.",
               counters.tunings_dropped);
  AppendMetric(text, "tunings_put_off", "Tunings left to a later call, outside of a capture.",
               counters.tunings_put_off);
  AppendMetric(text, "recorded", "Problems noted to be tuned later.", counters.recorded);
  AppendMetric(text, "swaps", "Plans replaced by better ones.", counters.swaps);
  AppendMetric(text, "evictions", "Plans given up for want of room.", counters.evictions);
  AppendMetric(text, "builds_in_caller", "Builds that a caller waited for.",
               counters.builds_in_caller);
  AppendMetric(text, "builds_in_background", "Builds that nobody waited for.",
               counters.builds_in_background);
  AppendMetric(text, "miss_seconds", "Time that callers spent in misses.",
               Seconds(counters.miss_ns));
  AppendMetric(text, "tuning_seconds", "Time spent tuning.", Seconds(counters.tuning_ns));
  return text;
}

std::string Summary(const ServerCounters& counters) {
  std::string by_origin;
  for (int i = 0; i < kOriginCount; ++i) {
    const uint64_t count = counters.misses_by_origin[static_cast<size_t>(i)];
    if (count == 0) continue;
    fmt::format_to(std::back_inserter(by_origin), "{}{} {}", by_origin.empty() ? "" : ", ", count,
                   Name(static_cast<Origin>(i)));
  }
  if (counters.failures > 0) {
    fmt::format_to(std::back_inserter(by_origin), "{}{} none", by_origin.empty() ? "" : ", ",
                   counters.failures);
  }
  return fmt::format(
      "attune: {} hits, {} misses{} in {:.1f} ms, {} tuned in {:.1f} s, {} recorded, {} swaps, {} "
      "evictions.",
      counters.hits, counters.misses, by_origin.empty() ? "" : " (" + by_origin + ")",
      Seconds(counters.miss_ns) * 1e3, counters.tunings, Seconds(counters.tuning_ns),
      counters.recorded, counters.swaps, counters.evictions);
}

std::string_view Name(MissReason reason) {
  switch (reason) {
    case MissReason::kFirstCall:
      return "first_call";
    case MissReason::kUnrecorded:
      return "unrecorded";
    case MissReason::kStale:
      return "stale";
    case MissReason::kNotReady:
      return "not_ready";
    case MissReason::kFailed:
      return "failed";
  }
  return "failed";
}

std::string_view Name(ServerEvent event) {
  switch (event) {
    case ServerEvent::kMiss:
      return "miss";
    case ServerEvent::kSwap:
      return "swap";
    case ServerEvent::kTuned:
      return "tuned";
    case ServerEvent::kTuningFailed:
      return "tuning_failed";
    case ServerEvent::kEvicted:
      return "evicted";
    case ServerEvent::kSkipped:
      return "skipped";
  }
  return "miss";
}

}  // namespace attune
