// What a run-time lookup needs of the records, without reading the records: for each problem, what
// each measurement set chose. Derived data; docs/formats/index.md has the file.
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

// A candidate as its set timed it.
struct RankedCandidate {
  Candidate candidate;
  double median_ns = 0;
  int64_t workspace_bytes = 0;
  int64_t build_ns = 0;  // As Trial::build_ns and Trial::load_ns.
  int64_t load_ns = 0;
  bool fails_capture = false;  // Whether Trial::capture_failure says so.

  friend bool operator==(const RankedCandidate&, const RankedCandidate&) = default;
};

// What one finished measurement set says about its problem.
struct IndexedChoice {
  // Shared by every choice of one machine and one environment; never null.
  std::shared_ptr<const Target> target;
  std::shared_ptr<const Environment> environment;
  CacheState cache = CacheState::kWarm;  // As the set was measured.
  int64_t revision = 0;                  // Of the set's last record: a higher one is newer.
  int64_t started_unix_ns = 0;           // Of the set.
  // First the choice by the rules of select.h, then the others from the quickest on; at most
  // kMaxRanked. Never empty, and it always holds the default.
  std::vector<RankedCandidate> ranking;
  size_t default_position = 0;  // In `ranking`; 0 if the default was kept.
  double speedup = 1;           // Default over choice, with its interval at `confidence`.
  double speedup_low = 1;
  double speedup_high = 1;
  double confidence = 0;
  // One sentence, where something else chose than a record of this problem; empty: a record did.
  std::string because;
  // A person chose the first one of the ranking, and nobody measured it.
  bool is_override = false;

  const RankedCandidate& best() const { return ranking.front(); }
};
inline constexpr size_t kMaxRanked = 8;

// Of one problem, the newest choice of each machine, environment and cache state is kept, and of
// these the newest so many.
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

  // Every choice that is known of `problem`, newest first; empty if there is none. kDataLoss if
  // what is kept of it is damaged: the caller goes on as if nothing were known.
  virtual Result<std::vector<IndexedChoice>> Find(const Problem& problem) const = 0;

  // Problems with choices that differ from `problem` in sizes only (see neighbour.h), nearest
  // first, at most `limit` of them and none farther than `max_distance`. `problem` itself is left
  // out.
  virtual Result<std::vector<Neighbour>> Nearest(const Problem& problem, size_t limit,
                                                 double max_distance) const = 0;

  // What is kept of `problem` and cannot be a choice here, and why: a sentence for each.
  virtual std::vector<std::string> Unusable(const Problem& problem) const {
    (void)problem;
    return {};
  }

  // Number of problems with a choice.
  virtual int64_t problem_count() const = 0;
};

}  // namespace attune
