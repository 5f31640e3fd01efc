// Tuning records: measurement sets and their trials. Append-only; "best" is a pure function over
// them (select.h). docs/formats/schema.md has the tables.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attune/problem/problem.h"
#include "attune/problem/target.h"
#include "attune/trial/device_conditions.h"
#include "attune/trial/trial.h"

namespace attune {

// Trials that were measured together: one problem, one process environment, the default candidate
// beside the others. A speed-up is only ever computed inside one set.
struct MeasurementSet {
  std::string id;  // 32 hexadecimal digits, random, made by the client (NewSetId()).
  Problem problem;
  Target target;
  Environment environment;
  Peaks peaks;  // Peaks of the target on that day; zeros if not measured.
  CacheState cache = CacheState::kWarm;
  uint64_t seed = 0;        // Seeds data, order and search.
  std::string searcher;     // "exhaustive", ...
  std::string measured_by;  // user@host
  std::string attune_version;
  int64_t started_unix_ns = 0;

  friend bool operator==(const MeasurementSet&, const MeasurementSet&) = default;
};

std::string NewSetId();
// The same kind of id, for a store.
std::string NewDatabaseId();

// The result of qualifying one candidate.
struct Qualified {
  Trial trial;          // kQualify: monostate if it passed, else the failure.
  double quick_ns = 0;  // Best of a few unfair runs after verification: orders candidates, decides
                        // nothing. 0 if it failed, or unknown.
  // The requested candidate, if `trial.candidate` is the result of its search. Not stored.
  std::optional<Candidate> asked = {};
  // Time from the request until it passed, failed or was given up, without building and loading:
  // launches, comparing, the quick runs. 0: unknown.
  int64_t verify_ns = 0;

  friend bool operator==(const Qualified&, const Qualified&) = default;
};
// The requested candidate.
inline const Candidate& AskedOf(const Qualified& qualified) {
  return qualified.asked.has_value() ? *qualified.asked : qualified.trial.candidate;
}

struct Record {
  int64_t revision = 0;  // Assigned by the store, increasing in order of commit; at least 1.
  int64_t appended_unix_ns = 0;
  Trial trial;
  double quick_ns = 0;    // As in Qualified; 0 for trials of other roles.
  int64_t verify_ns = 0;  // As in Qualified.

  friend bool operator==(const Record&, const Record&) = default;
};

struct RecordedSet {
  MeasurementSet set;
  bool finished =
      false;  // The tuner came to its decision. An interrupted run leaves an unfinished set, and so
              // does one with worse evidence than the incumbent's (select.h).
  std::vector<Record> records;    // In order of revision.
  SetConditions conditions = {};  // Device conditions around the finals; empty if unknown.

  friend bool operator==(const RecordedSet&, const RecordedSet&) = default;
};

}  // namespace attune
