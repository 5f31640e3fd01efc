// What a plan server did so far.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "attune/dispatch/plan.h"
#include "attune/problem/problem.h"

namespace attune {

// Why a call looked for a plan and what it met. Every miss has one.
enum class MissReason {
  kFirstCall,  // A record of this target, or what is forced, serves: the shape had not been called.
  kUnrecorded,  // Nothing is recorded of the problem here.
  kStale,       // What is recorded cannot be used here.
  kNotReady,    // A record serves as soon as its candidate has been made ready.
  kFailed,      // Nothing can serve.
};
inline constexpr int kMissReasonCount = 5;
std::string_view Name(MissReason reason);  // "first_call", "unrecorded", ...

struct ServerCounters {
  uint64_t hits = 0;
  uint64_t misses = 0;
  std::array<uint64_t, kOriginCount> misses_by_origin{};
  std::array<uint64_t, kMissReasonCount> misses_by_reason{};
  uint64_t failures = 0;   // Misses that nothing could serve.
  uint64_t stand_ins = 0;  // Misses served by another candidate until the better one was ready.
  uint64_t skipped_records = 0;
  uint64_t tunings = 0;
  uint64_t tuning_failures = 0;
  uint64_t tunings_dropped = 0;  // The queue was full.
  uint64_t tunings_put_off = 0;  // The stream of the call was captured.
  uint64_t recorded = 0;
  uint64_t swaps = 0;
  uint64_t evictions = 0;
  uint64_t builds_in_caller = 0;
  uint64_t builds_in_background = 0;
  int64_t miss_ns = 0;
  int64_t tuning_ns = 0;

  friend bool operator==(const ServerCounters&, const ServerCounters&) = default;
};

// The lines of the Prometheus text format, version 0.0.4, each name with the prefix "attune_".
std::string PrometheusText(const ServerCounters& counters);
// "attune: 1234 hits, 7 misses (5 measured, 2 default), ...": one line for people.
std::string Summary(const ServerCounters& counters);

enum class ServerEvent { kMiss, kSwap, kTuned, kTuningFailed, kEvicted, kSkipped };
std::string_view Name(ServerEvent event);  // "miss", "swap", ...

// Called by whichever thread notices, with no lock held. `candidate` is null if there is none.
using ServerListener = std::function<void(ServerEvent event, const Problem& problem,
                                          const Candidate* candidate, const std::string& message)>;

}  // namespace attune
