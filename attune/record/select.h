// Chooses from records. Pure functions: the same records give the same answer.
//
// WHICH EVIDENCE COUNTS
//
// Of several measurement sets of one problem the newest finished one whose default and winner hold
// here decides (SelectBest). A set is finished if the tuner came to a decision in it, and a
// decision that differs from what stands already needs evidence that is no worse (Replaces). So a
// problem that is measured again is measured against what stands: the standing choice is qualified
// first and runs in the final, in the same rounds as the default and everybody else, whatever the
// race or a filter of solvers says about it. Then the new set takes the place of the standing one
// if
//
//   1. the standing choice failed: crashed, computed something wrong, ran out of memory; or
//   2. the new choice beat the standing one in these rounds, by the margin and with confidence, and
//      is steady (IsSteady): where something else ran beside, rounds that hit one candidate harder
//      than the other prove nothing; or
//   3. the new final is as sure of its choice as the standing one was of its own: by `doubt`, the
//      factor by which somebody else in the final may still be faster, up to the margin; or
//   4. the standing set was measured while something else ran (its choice or its default is not
//      steady), and the new one was not: the default, the standing and the new choice are steady in
//      the new final, with confidence. The doubt of the standing set says nothing then, least of
//      all where noise left only the default in its final.
//
// Otherwise the set stays unfinished, and what stood stands. A hurried measurement ends in wide
// intervals, so that it has a large doubt, and it seldom meets 2 by chance; a careful one meets 3.
// Intervals of two sets are never compared with each other: between two days a machine differs by
// more than two candidates do. Where the environment has changed so that the standing set does not
// hold here (match_policy.h), nothing stands, and the new set decides alone.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attune/problem/target.h"
#include "attune/record/record.h"
#include "attune/trial/candidate.h"
#include "attune/trial/match_policy.h"
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
  double doubt = 0;              // Of its final: see Decision::doubt.
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
  // A set whose winner this refuses is passed over, too. Null: none is.
  std::function<bool(const Problem& problem, const Candidate& winner)> allows = nullptr;
};

// The best candidate by the newest finished set whose default and winner are valid here and whose
// solvers exist here, or nothing if there is none. `sets` are of one problem, oldest first, with
// samples. `notes` (may be null) gets a sentence for each set that was passed over.
std::optional<Choice> SelectBest(std::span<const RecordedSet> sets, const Target& here,
                                 const Environment& now, const SelectOptions& options,
                                 std::vector<std::string>* notes);

// Whether `set`, which timed the same problem later, takes the place of `standing`: the rule above.
// `set` is with samples and holds failures of every role. False if it made no choice, or if the
// standing choice neither failed nor ran in its final: then it says nothing about it.
bool Replaces(const RecordedSet& set, const Choice& standing, const SelectOptions& options);

// The choice of one set, whatever its environment.
std::optional<Choice> SelectWithin(const RecordedSet& set, const SelectOptions& options);

// Whether `measurement` can have been measured in a set with caches in state `cache`: a time of
// zero, below, or without end never was, whatever recorded it. False without samples.
bool IsCredible(const Measurement& measurement, CacheState cache);

// Half the width of the interval of `measurement` over its median: 0.05 is ±5 %. Infinity without a
// positive median.
double RelativeSpread(const Measurement& measurement);

// Whether that is within what an idle machine shows. Wider intervals are of a machine on which
// something else ran, or of a handful of samples.
inline constexpr double kMostSteadySpread = 0.25;
bool IsSteady(const Measurement& measurement);

// Whether what `choice` was decided by is steady: its own time and that of the default.
bool WasSteady(const Choice& choice);

// Each rate the higher of two measurements of one machine: a peak is what a machine can do, and
// what was measured while others used it is too low.
Peaks HighestOf(const Peaks& a, const Peaks& b);

// What `problem` reaches in `time_ns`, per second: its operations, and the bytes that it cannot do
// without. 0 if unknown.
struct Rates {
  double flops = 0;
  double bytes = 0;
};
Rates RatesOf(const Problem& problem, double time_ns);

// Seconds that no implementation can beat: max(flops / peak flops, compulsory bytes / bandwidth),
// or compulsory bytes / bandwidth for a memory-bound operator, whose type may have no known peak. 0
// if unknown.
double RooflineSeconds(const Problem& problem, const Peaks& peaks);

// Whether arithmetic is what bounds RooflineSeconds, not memory. A time below that bound proves
// that the peak is too low; one below the bound of memory proves it only if no cache held the
// operands.
bool IsBoundByArithmetic(const Problem& problem, const Peaks& peaks);

}  // namespace attune
