// Chooses from records. Pure functions: the same records give the same answer.
//
// WHICH EVIDENCE COUNTS
//
// The newest finished measurement set of a problem with a default and winner valid here decides
// (SelectBest). A set is finished if the tuner came to a decision in it, and a decision that
// differs from the incumbent needs evidence that is no worse (Replaces). So a repeated measurement
// includes the incumbent: it is qualified first and runs in the final. It runs in the same rounds
// as the default and all others, regardless of the race or a filter of solvers. Then the new set
// replaces the standing one, which chose the incumbent, if
//
//   1. the incumbent failed: crashed, computed something wrong, ran out of memory; or
//   2. the new choice beat the standing one in these rounds, by the margin and with confidence, and
//      is steady (IsSteady): where something else ran beside, rounds that hit one candidate harder
//      than the other prove nothing; or
//   3. the new final is as sure of its choice as the old one was of its own: by `doubt`, the
//      factor by which another finalist may still be faster, up to the margin; or
//   4. the standing set was measured under other load (its choice or its default is not
//      steady), and the new one was not: default, incumbent and new choice are steady in
//      the new final, with confidence. The doubt of the standing set says nothing then, least of
//      all where noise left only the default in its final.
//
// Otherwise the set stays unfinished, and the incumbent remains. A hurried measurement ends in wide
// intervals, so that it has a large doubt, and it seldom meets 2 by chance; a careful one meets 3.
// Intervals of two sets are never compared with each other: between two days a machine differs by
// more than two candidates do. Where the environment has changed so that the standing set does not
// hold here (match_policy.h), there is no incumbent, and the new set decides alone.
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

// The choice for a problem, and its evidence.
struct Choice {
  Problem problem;
  Target target;
  Candidate candidate;
  Provenance provenance = Provenance::kUntuned;
  Measurement measurement;  // Measurement of the candidate; may lack samples.
  Candidate default_candidate;
  Measurement default_measurement;  // In the same set.
  double speedup = 1;      // Default over candidate, paired by rounds; 1 for the default itself.
  double speedup_low = 1;  // Interval at `confidence`.
  double speedup_high = 1;
  double confidence = 0;
  double doubt = 0;              // Doubt of its final: see Decision::doubt.
  double roofline_fraction = 0;  // Roofline time / median; 0 if peaks are unknown.
  int64_t workspace_bytes = 0;
  std::string set_id;
};

// Rules of the choice; the tuner and every reader use the same.
struct SelectOptions {
  double margin = 0.01;      // The default stays unless beaten by this fraction...
  double confidence = 0.99;  // ...with this confidence, over all looks of a final together.
  // The solvers that exist here. SelectBest passes over a set if another solver, or another
  // version, computed its default or winner. Empty: every solver counts as existing.
  std::vector<SolverId> known_solvers = {};
  // A set with a winner that this refuses is passed over, too. Null: refuses none.
  std::function<bool(const Problem& problem, const Candidate& winner)> allows = nullptr;
};

// The best candidate by the newest finished set with a default and winner that are valid here and
// have solvers here, or nothing if there is none. `sets` are of one problem, oldest first, with
// samples. `notes` (may be null) gets a sentence for each set that was passed over.
std::optional<Choice> SelectBest(std::span<const RecordedSet> sets, const Target& here,
                                 const Environment& now, const SelectOptions& options,
                                 std::vector<std::string>* notes);

// Returns true if `set`, which timed the same problem later, replaces `standing`: the rule above.
// `set` is with samples and holds failures of every role. False if it made no choice, or if the
// incumbent neither failed nor ran in its final: then the set has no evidence about it.
bool Replaces(const RecordedSet& set, const Choice& standing, const SelectOptions& options);

// The choice of one set, in any environment.
std::optional<Choice> SelectWithin(const RecordedSet& set, const SelectOptions& options);

// Returns true if `measurement` is possible in a set with caches in state `cache`: a zero, negative
// or infinite time is not, whatever recorded it. False without samples.
bool IsCredible(const Measurement& measurement, CacheState cache);

// Half the width of the interval of `measurement` over its median: 0.05 is ±5 %. Infinity without a
// positive median.
double RelativeSpread(const Measurement& measurement);

// Spread limit of an idle machine. Wider intervals come from a machine with other load, or from a
// handful of samples.
inline constexpr double kMostSteadySpread = 0.25;
bool IsSteady(const Measurement& measurement);

// Returns true if the evidence of `choice` is steady: its own time and that of the default.
bool WasSteady(const Choice& choice);

// Each rate is the higher of two measurements of one machine: a peak is the capability of a
// machine, and a measurement under other load is too low.
Peaks HighestOf(const Peaks& a, const Peaks& b);

// Rates that `problem` reaches in `time_ns`, per second: its operations, and its compulsory bytes.
// 0 if unknown.
struct Rates {
  double flops = 0;
  double bytes = 0;
};
Rates RatesOf(const Problem& problem, double time_ns);

// The minimum time in seconds of any implementation: max(flops / peak flops, compulsory bytes /
// bandwidth). For a memory-bound operator, whose type may have no known peak, compulsory bytes /
// bandwidth. 0 if unknown.
double RooflineSeconds(const Problem& problem, const Peaks& peaks);

// Returns true if arithmetic and not memory bounds RooflineSeconds. A time below that bound proves
// that the peak is too low; one below the bound of memory proves it only if no cache held the
// operands.
bool IsBoundByArithmetic(const Problem& problem, const Peaks& peaks);

}  // namespace attune
