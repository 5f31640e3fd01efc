// Divides the rest of the time of a problem between screening and the final.
//
// A final that ends before its first look finds only gross differences, so the default stays even
// if a faster candidate was found. The time of the final is therefore set aside first, from the
// times that are known so far; the fewer blocks there is time for, the fewer candidates share them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace attune {

// Wall-clock time to time one candidate.
struct TimingCost {
  int64_t load_ns = 0;         // Once for a race, once for a final.
  int64_t first_block_ns = 0;  // The first block of a race.
  int64_t block_ns = 0;        // Every other one.
};

// Launches that fill a block.
int LaunchesPerBlock(double launch_ns);

// The cost of a candidate with launches of `launch_ns`.
TimingCost EstimateCost(double launch_ns, int64_t load_ns);

// In all functions below `costs` are of the baseline, which must be present, and of its
// challengers, best first.

// A final with the first `finalists` challengers up to `rounds`.
int64_t FinalNs(std::span<const TimingCost> costs, size_t finalists, int rounds);

// Number of challengers that a final of `available_ns` decides among: at most `max_count`, at least
// one if there is one.
size_t AffordableFinalists(std::span<const TimingCost> costs, size_t max_count,
                           int64_t available_ns);

// Bounds on the share of searching in the time for searching and deciding.
inline constexpr double kMinSearchShare = 0.25;
inline constexpr double kMaxSearchShare = 0.9;

// Estimated time of a race and a final among the baseline and challengers that cost as much as
// `best`. The shorter the launches, the more rounds the final gets. At most half of `available_ns`,
// unless the first look of a final of these two takes longer.
int64_t DecisionNs(const TimingCost& baseline, const TimingCost& best, int64_t available_ns);

struct TimePlan {
  // Without a race the first `entrants` challengers are the finalists.
  bool has_race = true;
  size_t entrants = 0;  // Challengers, best first.
  int64_t race_ns = 0;  // Budget of the race, without loading.
};

// Divides `available_ns`, of which the race gets at most `max_race_ns`. There is no race if there
// is no time for more contenders than finalists: it would select none.
TimePlan PlanTime(std::span<const TimingCost> costs, size_t max_finalists, int64_t available_ns,
                  int64_t max_race_ns);

}  // namespace attune
