#include "attune/dispatch/counters.h"

#include <gtest/gtest.h>

namespace attune {
namespace {

ServerCounters SampleCounters() {
  ServerCounters counters;
  counters.hits = 1000;
  counters.misses = 12;
  counters.misses_by_origin = {0, 5, 0, 3, 0, 2};
  counters.misses_by_reason = {1, 4, 2, 3, 2};
  counters.failures = 2;
  counters.stand_ins = 4;
  counters.skipped_records = 6;
  counters.tunings = 7;
  counters.tuning_failures = 8;
  counters.tunings_dropped = 9;
  counters.tunings_put_off = 17;
  counters.recorded = 10;
  counters.swaps = 11;
  counters.evictions = 13;
  counters.builds_in_caller = 14;
  counters.builds_in_background = 15;
  counters.miss_ns = 2'500'000;
  counters.tuning_ns = 3'250'000'000;
  return counters;
}

TEST(CountersTest, ThePrometheusTextHasEveryCounterWithItsHelpAndType) {
  EXPECT_EQ(PrometheusText(SampleCounters()),
            R"(# HELP attune_hits_total Calls whose plan was at hand.
# TYPE attune_hits_total counter
attune_hits_total 1000
# HELP attune_misses_total Calls whose plan had to be looked for, by what served them.
# TYPE attune_misses_total counter
attune_misses_total{provenance="forced"} 0
attune_misses_total{provenance="measured"} 5
attune_misses_total{provenance="compatible"} 0
attune_misses_total{provenance="nearest"} 3
attune_misses_total{provenance="predicted"} 0
attune_misses_total{provenance="default"} 2
attune_misses_total{provenance="none"} 2
# HELP attune_misses_by_reason_total The same calls, by why no plan was at hand.
# TYPE attune_misses_by_reason_total counter
attune_misses_by_reason_total{reason="first_call"} 1
attune_misses_by_reason_total{reason="unrecorded"} 4
attune_misses_by_reason_total{reason="stale"} 2
attune_misses_by_reason_total{reason="not_ready"} 3
attune_misses_by_reason_total{reason="failed"} 2
# HELP attune_stand_ins_total Misses served while the better candidate was made ready.
# TYPE attune_stand_ins_total counter
attune_stand_ins_total 4
# HELP attune_skipped_records_total Records that cannot be used here.
# TYPE attune_skipped_records_total counter
attune_skipped_records_total 6
# HELP attune_tunings_total Problems tuned on a miss.
# TYPE attune_tunings_total counter
attune_tunings_total 7
# HELP attune_tuning_failures_total Tunings that failed.
# TYPE attune_tuning_failures_total counter
attune_tuning_failures_total 8
# HELP attune_tunings_dropped_total Tunings that found the queue full.
# TYPE attune_tunings_dropped_total counter
attune_tunings_dropped_total 9
# HELP attune_tunings_put_off_total Tunings left to a later call, outside of a capture.
# TYPE attune_tunings_put_off_total counter
attune_tunings_put_off_total 17
# HELP attune_recorded_total Problems noted to be tuned later.
# TYPE attune_recorded_total counter
attune_recorded_total 10
# HELP attune_swaps_total Plans replaced by better ones.
# TYPE attune_swaps_total counter
attune_swaps_total 11
# HELP attune_evictions_total Plans given up for want of room.
# TYPE attune_evictions_total counter
attune_evictions_total 13
# HELP attune_builds_in_caller_total Builds that a caller waited for.
# TYPE attune_builds_in_caller_total counter
attune_builds_in_caller_total 14
# HELP attune_builds_in_background_total Builds that nobody waited for.
# TYPE attune_builds_in_background_total counter
attune_builds_in_background_total 15
# HELP attune_miss_seconds_total Time that callers spent in misses.
# TYPE attune_miss_seconds_total counter
attune_miss_seconds_total 0.0025
# HELP attune_tuning_seconds_total Time spent tuning.
# TYPE attune_tuning_seconds_total counter
attune_tuning_seconds_total 3.25
)");
}

TEST(CountersTest, TheSummaryNamesWhatServedTheMisses) {
  EXPECT_EQ(Summary(SampleCounters()),
            "attune: 1000 hits, 12 misses (5 measured, 3 nearest, 2 default, 2 none) in 2.5 ms, 7 "
            "tuned in 3.2 s, 10 recorded, 11 swaps, 13 evictions.");
}

TEST(CountersTest, TheSummaryOfNothingIsShort) {
  EXPECT_EQ(Summary(ServerCounters()),
            "attune: 0 hits, 0 misses in 0.0 ms, 0 tuned in 0.0 s, 0 recorded, 0 swaps, 0 "
            "evictions.");
}

TEST(CountersTest, EveryEventHasANameOfItsOwn) {
  EXPECT_EQ(Name(ServerEvent::kMiss), "miss");
  EXPECT_EQ(Name(ServerEvent::kSwap), "swap");
  EXPECT_EQ(Name(ServerEvent::kTuned), "tuned");
  EXPECT_EQ(Name(ServerEvent::kTuningFailed), "tuning_failed");
  EXPECT_EQ(Name(ServerEvent::kEvicted), "evicted");
  EXPECT_EQ(Name(ServerEvent::kSkipped), "skipped");
}

}  // namespace
}  // namespace attune
