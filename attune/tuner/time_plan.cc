#include "attune/tuner/time_plan.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "attune/measure/block_timer.h"
#include "attune/measure/decision.h"

namespace attune {
namespace {

// Beyond the first look, so that a disturbed pair, or a round that took longer than planned, does
// not spoil it: the interval of 16 pairs may leave one out.
constexpr int kReservedRounds = kFirstLookRounds + 4;
// A final rarely changes its result after this many rounds. On a busy machine it outlasts a
// disturbance of some tenths of a second, which spoils every round of a short one.
constexpr int64_t kEnoughRounds = 48;
// Share of the rest of the time, for rounds beyond the minimum.
constexpr double kLongFinalShare = 0.5;
// Share of the rest of the time, while the final can still reach its first look with less:
// finalists must be found before they can win.
constexpr double kMostFinalShare = 0.7;

int64_t LoadNs(std::span<const TimingCost> costs, size_t challengers) {
  int64_t sum_ns = 0;
  for (size_t i = 0; i <= challengers; ++i) sum_ns += costs[i].load_ns;
  return sum_ns;
}

// The first pass of a race over the first `entrants` challengers.
int64_t PassNs(std::span<const TimingCost> costs, size_t entrants) {
  int64_t sum_ns = LoadNs(costs, entrants);
  for (size_t i = 0; i <= entrants; ++i) sum_ns += costs[i].first_block_ns;
  return sum_ns;
}

// The minimum for the final.
int64_t ReservedNs(std::span<const TimingCost> costs, size_t finalists, int64_t available_ns) {
  const auto most_ns = static_cast<int64_t>(kMostFinalShare * static_cast<double>(available_ns));
  const auto long_ns = static_cast<int64_t>(kLongFinalShare * static_cast<double>(available_ns));
  const int64_t load_ns = LoadNs(costs, finalists);
  const int64_t round_ns = std::max<int64_t>(FinalNs(costs, finalists, 1) - load_ns, 1);
  const int64_t rounds =
      std::clamp<int64_t>((long_ns - load_ns) / round_ns, kReservedRounds, kEnoughRounds);
  const int64_t wanted_ns = FinalNs(costs, finalists, static_cast<int>(rounds));
  return std::min(wanted_ns, std::max(most_ns, FinalNs(costs, finalists, kFirstLookRounds)));
}

// Share of the time that rounds beyond the minimum may take.
constexpr double kRoundsShare = 0.15;
// Assumed race: this many contenders, half of which stay for this many rounds.
constexpr int64_t kEntrants = 8;
constexpr int64_t kRaceRounds = 3;

}  // namespace

int LaunchesPerBlock(double launch_ns) {
  const double launches = static_cast<double>(kBlockTargetNs) / std::max(1.0, launch_ns);
  return static_cast<int>(std::lround(std::clamp<double>(launches, 1, kMaxBlockLaunches)));
}

TimingCost EstimateCost(double launch_ns, int64_t load_ns) {
  const double timed_ns = launch_ns * LaunchesPerBlock(launch_ns);
  const auto with_warm_up_ns = static_cast<int64_t>(timed_ns + launch_ns);
  const bool is_long = launch_ns > kLongLaunchNs;
  return {load_ns, with_warm_up_ns, is_long ? static_cast<int64_t>(timed_ns) : with_warm_up_ns};
}

int64_t FinalNs(std::span<const TimingCost> costs, size_t finalists, int rounds) {
  assert(finalists < costs.size());
  int64_t round_ns = 0;
  for (size_t i = 0; i <= finalists; ++i) round_ns += costs[i].block_ns;
  return LoadNs(costs, finalists) + rounds * round_ns;
}

size_t AffordableFinalists(std::span<const TimingCost> costs, size_t max_count,
                           int64_t available_ns) {
  assert(!costs.empty());
  size_t count = std::min(max_count, costs.size() - 1);
  while (count > 1 && FinalNs(costs, count, kReservedRounds) > available_ns) --count;
  return count;
}

int64_t DecisionNs(const TimingCost& baseline, const TimingCost& best, int64_t available_ns) {
  const TimingCost finalists[] = {baseline, best, best, best};
  const int64_t round_ns = std::max<int64_t>(baseline.block_ns + 3 * best.block_ns, 1);
  const auto worth_ns = static_cast<int64_t>(kRoundsShare * static_cast<double>(available_ns));
  const int64_t rounds = std::clamp<int64_t>(worth_ns / round_ns, kReservedRounds, kEnoughRounds);
  const int64_t first_pass_ns =
      baseline.load_ns + baseline.first_block_ns + kEntrants * (best.load_ns + best.first_block_ns);
  const int64_t race_ns =
      first_pass_ns + kRaceRounds * (baseline.block_ns + kEntrants / 2 * best.block_ns);
  const int64_t decision_ns = race_ns + FinalNs(finalists, 3, static_cast<int>(rounds));
  if (decision_ns <= available_ns / 2) return decision_ns;
  return std::max(available_ns / 2, FinalNs(finalists, 1, kFirstLookRounds));
}

TimePlan PlanTime(std::span<const TimingCost> costs, size_t max_finalists, int64_t available_ns,
                  int64_t max_race_ns) {
  const auto most_final_ns =
      static_cast<int64_t>(kMostFinalShare * static_cast<double>(available_ns));
  const size_t challengers = costs.size() - 1;
  const size_t finalists = AffordableFinalists(costs, max_finalists, most_final_ns);
  const int64_t screen_ns =
      std::max<int64_t>(0, available_ns - ReservedNs(costs, finalists, available_ns));
  size_t entrants = challengers;
  while (entrants > finalists && PassNs(costs, entrants) > screen_ns) --entrants;
  const bool fits = PassNs(costs, entrants) <= screen_ns;
  if (!fits || (entrants <= finalists && entrants < challengers)) {
    return {.has_race = false, .entrants = finalists, .race_ns = 0};
  }
  return {.has_race = true,
          .entrants = entrants,
          .race_ns = std::min(max_race_ns, screen_ns - LoadNs(costs, entrants))};
}

}  // namespace attune
