// The data of a run-time lookup, so that it need not read the records: for each problem, the choice
// of each measurement set. Derived data; docs/formats/index.md has the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "attune/base/status.h"
#include "attune/problem/problem.h"
#include "attune/problem/target.h"
#include "attune/trial/candidate.h"
#include "attune/trial/trial.h"

namespace attune {

// A candidate with its time in a set.
struct RankedCandidate {
  Candidate candidate;
  double median_ns = 0;
  int64_t workspace_bytes = 0;
  int64_t build_ns = 0;  // As Trial::build_ns and Trial::load_ns.
  int64_t load_ns = 0;
  bool fails_capture = false;  // True if Trial::capture_failure is set.

  friend bool operator==(const RankedCandidate&, const RankedCandidate&) = default;
};

// The result of one finished measurement set for its problem.
struct IndexedChoice {
  // Shared by every choice of one machine and one environment; never null.
  std::shared_ptr<const Target> target;
  std::shared_ptr<const Environment> environment;
  CacheState cache = CacheState::kWarm;  // While the set was measured.
  int64_t revision = 0;         // Revision of the set's last record: a higher one is newer.
  int64_t started_unix_ns = 0;  // Start of the set.
  // First the choice by the rules of select.h, then the others from the quickest on; at most
  // kMaxRanked. Never empty, and always contains the default.
  std::vector<RankedCandidate> ranking;
  size_t default_position = 0;  // In `ranking`; 0 if the default was kept.
  double speedup = 1;           // Default over choice, with its interval at `confidence`.
  double speedup_low = 1;
  double speedup_high = 1;
  double confidence = 0;
  // One sentence if the choice does not come from a record of this problem; else empty.
  std::string because;
  // A user chose the first one of the ranking, and it was not measured.
  bool is_override = false;

  const RankedCandidate& best() const { return ranking.front(); }
};
inline constexpr size_t kMaxRanked = 8;

// For each problem, the newest choice of each machine, environment and cache state is kept, and at
// most this many of these, the newest.
inline constexpr size_t kMaxChoices = 64;

// A tuned problem near another one.
struct Neighbour {
  Problem problem;
  double distance = 0;  // Euclidean, over the logarithms to base 2 of the sizes; see neighbour.h.
};

// Thread-safe; waits for no file, no database and no other process.
class ChoiceSource {
 public:
  virtual ~ChoiceSource() = default;

  // Every known choice for `problem`, newest first; empty if there is none. kDataLoss if its data
  // is damaged: the caller then continues as without choices.
  virtual Result<std::vector<IndexedChoice>> Find(const Problem& problem) const = 0;

  // Problems with choices that differ from `problem` in sizes only (see neighbour.h), nearest
  // first, at most `limit` of them and none farther than `max_distance`. `problem` itself is left
  // out.
  virtual Result<std::vector<Neighbour>> Nearest(const Problem& problem, size_t limit,
                                                 double max_distance) const = 0;

  // Data for `problem` that cannot be a choice here, and why: a sentence for each.
  virtual std::vector<std::string> Unusable(const Problem& problem) const {
    (void)problem;
    return {};
  }

  // Number of problems with a choice.
  virtual int64_t problem_count() const = 0;
};

}  // namespace attune
