// Chooses from records. Pure functions: the same records give the same answer.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attune/choice/match_policy.h"
#include "attune/problem/target.h"
#include "attune/record/record.h"
#include "attune/trial/candidate.h"
#include "attune/trial/trial.h"

namespace attune {

enum class Provenance {
  kMeasured,  // Won against the default, with confidence.
  kDefault,   // Measured; nothing beat the default.
  kUntuned,   // No valid record: the default, unmeasured.
};
std::string_view Name(Provenance provenance);

// What to use for a problem, and on which evidence.
struct Choice {
  Problem problem;
  Target target;
  Candidate candidate;
  Provenance provenance = Provenance::kUntuned;
  Measurement measurement;  // Of the candidate; without samples if the query left them out.
  Candidate default_candidate;
  Measurement default_measurement;  // In the same set.
  double speedup = 1;      // Default over candidate, paired by rounds; 1 for the default itself.
  double speedup_low = 1;  // Interval at `confidence`.
  double speedup_high = 1;
  double confidence = 0;
  double roofline_fraction = 0;  // Roofline time / median; 0 if peaks are unknown.
  int64_t workspace_bytes = 0;
  std::string set_id;
};

// Rules of the choice; the tuner and every reader use the same.
struct SelectOptions {
  double margin = 0.01;      // The default stays unless beaten by this fraction...
  double confidence = 0.99;  // ...with this confidence, over all looks of a final together.
  // The solvers that exist here. A set whose default or winner is by another one, or by another
  // version, is passed over by SelectBest. Empty: every solver counts as existing.
  std::vector<SolverId> known_solvers = {};
};

// The best candidate by the newest finished set whose default and winner are valid here and whose
// solvers exist here, or nothing if there is none. `sets` are of one problem, oldest first, with
// samples. `notes` (may be null) gets a sentence for each set that was passed over.
std::optional<Choice> SelectBest(std::span<const RecordedSet> sets, const Target& here,
                                 const Environment& now, const MatchPolicy& policy,
                                 const SelectOptions& options, std::vector<std::string>* notes);

// The choice of one set, whatever its environment.
std::optional<Choice> SelectWithin(const RecordedSet& set, const SelectOptions& options);

// Whether `measurement` can have been measured in a set with caches in state `cache`: a time of
// zero, below, or without end never was, whatever recorded it. False without samples.
bool IsCredible(const Measurement& measurement, CacheState cache);

// Seconds that no implementation can beat: max(flops / peak flops, compulsory bytes / bandwidth); 0
// if unknown.
double RooflineSeconds(const Problem& problem, const Peaks& peaks);

}  // namespace attune
