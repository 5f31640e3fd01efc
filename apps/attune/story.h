// The story of each candidate of a measurement set, over all its trials: `explain` lists it and the
// report draws it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attune/record/record.h"
#include "attune/trial/trial.h"

namespace attune {

struct Story {
  Candidate candidate;
  bool is_default = false;
  std::optional<Measurement> final;   // The decision rests on these...
  std::optional<Measurement> screen;  // ...and these chose the finalists. Without samples.
  // Time over that of the default in the same screening round: comparable across rounds.
  std::optional<double> screen_ratio;
  std::optional<Failure> failure;  // A candidate that failed counts for nothing, however fast.
  int64_t build_ns = 0;
  int64_t load_ns = 0;
  int64_t workspace_bytes = 0;
  double max_error = 0;
  std::string capture_failure;  // As Trial::capture_failure.

  // Built and verified; the time ran out, or it was seen to be too slow to be timed.
  bool only_qualified() const { return !final && !screen && !failure; }
};

// One for each candidate, those with a time first, fastest first, then those that were only
// qualified, then failures.
std::vector<Story> StoriesOf(const RecordedSet& set);

// Time of `story` over that of `winner`: both final, or both screened and then each against the
// default beside it. Nothing if they cannot be compared.
std::optional<double> TimeAgainst(const Story& story, const Story& winner);

// The story of `candidate`, or null.
const Story* FindStory(const std::vector<Story>& stories, const Candidate& candidate);

}  // namespace attune
