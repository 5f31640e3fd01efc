#include "attune/measure/rounds.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>

namespace attune {
namespace {

// Number of blocks that the limits of a candidate are divided into: the samples for the first look
// of a final (decision.h).
constexpr int64_t kLimitedBlocks = 12;

// Lanes pair by round; only one of them may have a sample of round 0.
RatioEstimate SpeedupOver(const Lane& baseline, const Lane& lane, double confidence) {
  const bool skip = baseline.has_round_zero != lane.has_round_zero;
  const auto rounds = [&](const Lane& of) {
    return std::span(of.samples_ns).subspan(skip && of.has_round_zero ? 1 : 0);
  };
  const auto baseline_ns = rounds(baseline);
  const auto lane_ns = rounds(lane);
  if (!baseline_ns.empty() && !lane_ns.empty())
    return PairedRatio(baseline_ns, lane_ns, confidence);
  if (baseline.best_ns == 0 || lane.best_ns == 0) return {};
  const double ratio = baseline.best_ns / lane.best_ns;
  return {ratio, ratio, ratio, 0};
}

// Enough blocks for a decision fit into the limits.
int MostLaunches(int max_launches, const CandidateLimits& limits) {
  if (limits.max_launches <= 0) return max_launches;
  const int64_t each = std::max<int64_t>(1, limits.max_launches / kLimitedBlocks);
  return static_cast<int>(std::min<int64_t>(max_launches, each));
}

int64_t BlockTargetNs(int64_t target_ns, const CandidateLimits& limits) {
  return limits.max_time_ns <= 0 ? target_ns
                                 : std::min(target_ns, limits.max_time_ns / kLimitedBlocks);
}

}  // namespace

Rounds::Rounds(BlockTimer& timer, Clock& clock, std::vector<Lane> lanes, const Options& options)
    : timer_(&timer),
      clock_(&clock),
      lanes_(std::move(lanes)),
      options_(options),
      random_(options.seed),
      generation_(timer.generation()),
      start_ns_(clock.NowNs()) {
  assert(!lanes_.empty());
  options_.max_launches = MostLaunches(options_.max_launches, options_.limits);
  options_.block_target_ns = BlockTargetNs(options_.block_target_ns, options_.limits);
  for (Lane& lane : lanes_) lane.launches = MostLaunches(lane.launches, options_.limits);
}

void Rounds::Calibrate(int64_t deadline_ns) {
  const int64_t begin_ns = clock_->NowNs();
  std::vector<Lane*> order = RunningInRandomOrder();
  std::iter_swap(order.begin(), std::find(order.begin(), order.end(), &default_lane()));
  for (Lane* lane : order) {
    const bool late = lane != &default_lane() && clock_->NowNs() >= deadline_ns;
    if (late || !default_lane().running || TooManyRestarts()) {
      lane->running = false;
    } else {
      CalibrateLane(*lane);
    }
  }
  last_round_ns_ = clock_->NowNs() - begin_ns;
  UpdateSpeedups();
}

void Rounds::CalibrateLane(Lane& lane) {
  const auto target_ns = static_cast<double>(options_.block_target_ns);
  lane.launches = 1;
  const std::optional<double> first_ns = Sample(lane, 1);
  if (!first_ns.has_value()) return;
  double time_ns = *first_ns;
  double cost_ns = CostOfLaunch(time_ns, 1);
  // The first candidate pays for setup that serves all blocks.
  const bool is_first = &lane == &default_lane();
  if (time_ns < target_ns && (cost_ns < target_ns || is_first)) {
    // A quarter of a block: enough to amortize the first launch, and cheap if that first one was a
    // lucky shot.
    const int launches = static_cast<int>(
        std::min<double>(std::ceil(target_ns / (4 * cost_ns)), options_.max_launches));
    const std::optional<double> second_ns = Sample(lane, launches);
    if (!second_ns.has_value()) return;
    time_ns = std::min(time_ns, *second_ns);
    cost_ns = std::min(cost_ns, CostOfLaunch(*second_ns, launches));
  }
  const double launches = std::clamp<double>(target_ns / cost_ns, 1, options_.max_launches);
  lane.launches = static_cast<int>(std::lround(launches));
  if (lane.launches == 1) {
    lane.samples_ns.push_back(time_ns);
    lane.has_round_zero = true;
  }
  // The blocks so far were shorter than those to come.
  lane.block_wall_ns = std::max<int64_t>(lane.block_wall_ns, std::llround(lane.launches * cost_ns));
}

double Rounds::CostOfLaunch(double time_ns, int launches) const {
  if (options_.cache != CacheState::kCold) return time_ns;
  return std::max(time_ns, static_cast<double>(last_block_ns_) / launches);
}

void Rounds::RunRound() {
  const int64_t begin_ns = clock_->NowNs();
  const int restarts_before = restarts_;
  for (Lane* lane : RunningInRandomOrder()) {
    const std::optional<double> time_ns = Sample(*lane, lane->launches);
    if (restarts_ != restarts_before) return;
    if (time_ns.has_value()) lane->samples_ns.push_back(*time_ns);
    if (!default_lane().running) return;
  }
  ++round_;
  last_round_ns_ = clock_->NowNs() - begin_ns;
  UpdateSpeedups();
}

bool Rounds::AtLimit() const {
  const auto& limits = options_.limits;
  return std::any_of(lanes_.begin(), lanes_.end(), [&](const Lane& lane) {
    if (!lane.running || lane.samples_ns.empty()) return false;
    const auto blocks = static_cast<int64_t>(lane.samples_ns.size());
    const double spent_ns =
        lane.launches * std::accumulate(lane.samples_ns.begin(), lane.samples_ns.end(), 0.0);
    const double next_ns = spent_ns / static_cast<double>(blocks);
    return (limits.max_launches > 0 && (blocks + 1) * lane.launches > limits.max_launches) ||
           (limits.max_time_ns > 0 && spent_ns + next_ns > static_cast<double>(limits.max_time_ns));
  });
}

std::optional<double> Rounds::Sample(Lane& lane, int launches) {
  const int64_t begin_ns = clock_->NowNs();
  const tl::expected<double, Failure> time_ns =
      timer_->TimeBlock(lane.index, {.launches = launches, .cache = options_.cache});
  if (!time_ns.has_value()) {
    lane.failure = time_ns.error();
    lane.running = false;
    lane.samples_ns.clear();
  }
  if (timer_->generation() != generation_) {
    generation_ = timer_->generation();
    ++restarts_;
    DiscardSamples();
    return std::nullopt;
  }
  if (!time_ns.has_value()) return std::nullopt;
  assert(*time_ns > 0);
  last_block_ns_ = clock_->NowNs() - begin_ns;
  NoteWallTime(lane, *time_ns, last_block_ns_);
  lane.best_ns = lane.best_ns == 0 ? *time_ns : std::min(lane.best_ns, *time_ns);
  return *time_ns;
}

void Rounds::NoteWallTime(Lane& lane, double time_ns, int64_t wall_ns) {
  const bool first = lane.best_ns == 0;
  // The later blocks of a long launch have no warm-up.
  if (first && time_ns > kLongLaunchNs) {
    wall_ns = std::max(wall_ns - std::llround(time_ns), std::llround(time_ns));
  }
  lane.block_wall_ns = first ? wall_ns : (lane.block_wall_ns + wall_ns) / 2;
}

void Rounds::DiscardSamples() {
  round_ = 0;
  for (Lane& lane : lanes_) {
    if (lane.dropped_at_round.has_value()) continue;
    lane.samples_ns.clear();
    lane.has_round_zero = false;
    lane.speedup = {};
  }
}

std::vector<Lane*> Rounds::RunningInRandomOrder() {
  std::vector<Lane*> order;
  for (Lane& lane : lanes_) {
    if (lane.running) order.push_back(&lane);
  }
  random_.Shuffle(std::span<Lane*>(order));
  return order;
}

void Rounds::UpdateSpeedups() {
  for (Lane& lane : lanes_) {
    if (lane.running) lane.speedup = SpeedupOver(default_lane(), lane, options_.confidence);
  }
}

void Rounds::Drop(Lane& lane) {
  assert(&lane != &default_lane());
  lane.running = false;
  lane.dropped_at_round = round_;
}

size_t Rounds::RunningContenders() const {
  return static_cast<size_t>(std::count_if(lanes_.begin() + 1, lanes_.end(),
                                           [](const Lane& lane) { return lane.running; }));
}

}  // namespace attune
