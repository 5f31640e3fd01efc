#include "attune/tuner/child_block_timer.h"

#include <algorithm>
#include <cmath>

namespace attune {
namespace {

// A launch this much slower than the one that qualified hangs: others ran beside that one, and not
// beside those that are timed.
constexpr double kSlowestLaunch = 10;
// Of one sample of figures: energy counters are watched for 15 s at most (EnergyTerms), and
// launches are let end.
constexpr int64_t kMeterDeadlineNs = 60'000'000'000;

// Whether a child that is sound can have measured `reading`.
bool IsAnswer(const MeterReading& reading, const MeterRequest& request) {
  const auto is_finite = [](double value) { return std::isfinite(value); };
  const EnergyReading& energy = reading.energy;
  const bool is_energy = energy.low_joules >= 0 && energy.low_joules <= energy.joules &&
                         energy.joules <= energy.high_joules && is_finite(energy.high_joules);
  return is_energy && reading.outputs.size() == request.outputs.size() &&
         std::all_of(reading.outputs.begin(), reading.outputs.end(), is_finite);
}

}  // namespace

int64_t BlockDeadlineNs(int64_t run_deadline_ns, int launches, double quick_ns) {
  // One launch more: it warms up, and is not counted.
  const double slowest_ns = kSlowestLaunch * (launches + 1.0) * quick_ns;
  return std::max(run_deadline_ns, static_cast<int64_t>(slowest_ns));
}

ChildBlockTimer::ChildBlockTimer(SpareChildren& spares, Assignment assignment, Pace pace,
                                 std::vector<Candidate> candidates, const TimerRemains& remains)
    : spares_(spares),
      assignment_(std::move(assignment)),
      pace_(std::move(pace)),
      candidates_(std::move(candidates)),
      remains_(remains) {}

ChildBlockTimer::~ChildBlockTimer() {
  CollectBusy();
  if (child_.has_value()) remains_.dying.Add(child_->End());
}

Status ChildBlockTimer::Restart() {
  CollectBusy();
  child_.reset();
  loaded_.assign(candidates_.size(), std::nullopt);
  ATTUNE_ASSIGN_OR_RETURN(ChildProcess child, spares_.TakeReady(assignment_));
  child_.emplace(std::move(child));
  size_t next_index = 0;
  for (size_t i = 0; i < candidates_.size(); ++i) {
    if (banned_.contains(i)) continue;
    auto reply = child_->Ask(LoadRequest{Text(candidates_[i])});
    if (!reply) return BanAndRestart(i, std::move(reply.error()));
    auto* failed = std::get_if<FailedReply>(&reply->content);
    if (failed == nullptr) {
      loaded_[i] = next_index++;
      continue;
    }
    if (failed->device_lost) return BanAndRestart(i, std::move(failed->failure));
    banned_.emplace(i, std::move(failed->failure));
  }
  // While it loaded, who was timed or qualified before went. Nobody is timed beside that.
  remains_.dying.AwaitAll();
  return Status::Ok();
}

std::optional<Failure> ChildBlockTimer::FindObstacle(size_t index) const {
  if (const auto banned = banned_.find(index); banned != banned_.end()) return banned->second;
  if (child_.has_value()) return std::nullopt;
  // No crash of this candidate, which would be left out of later tunings for it.
  return Failure{FailureKind::kRunFailed, Phase::kMeasure, "No child to measure in: " + broken_};
}

Failure ChildBlockTimer::Ban(size_t index, const Reply& reply, const char* what_is_missing) {
  Failure failure{FailureKind::kRunFailed, Phase::kMeasure, what_is_missing};
  if (const auto* failed = std::get_if<FailedReply>(&reply.content)) {
    failure = failed->failure;
    if (failed->device_lost) return Replace(index, std::move(failure));
  }
  banned_.emplace(index, failure);
  return failure;
}

tl::expected<double, Failure> ChildBlockTimer::TimeBlock(size_t index,
                                                         const TimingRequest& request) {
  if (auto obstacle = FindObstacle(index)) return tl::unexpected(*std::move(obstacle));
  child_->SetRunDeadline(
      BlockDeadlineNs(pace_.run_deadline_ns, request.launches, pace_.QuickNs(candidates_[index])));
  auto reply = child_->Ask(TimeRequest{*loaded_[index], request.launches, request.cache});
  if (!reply) return tl::unexpected(Replace(index, std::move(reply.error())));
  const auto* timed = std::get_if<TimedReply>(&reply->content);
  if (timed != nullptr && std::isfinite(timed->ns) && timed->ns > 0) return timed->ns;
  return tl::unexpected(Ban(index, *reply, "The child gave no positive time."));
}

tl::expected<MeterReading, Failure> ChildBlockTimer::Meter(size_t index,
                                                           const MeterRequest& request) {
  if (auto obstacle = FindObstacle(index)) return tl::unexpected(*std::move(obstacle));
  child_->SetRunDeadline(
      std::max(kMeterDeadlineNs,
               BlockDeadlineNs(pace_.run_deadline_ns, 1, pace_.QuickNs(candidates_[index]))));
  auto reply = child_->Ask(MeterChildRequest{*loaded_[index], request});
  if (!reply) return tl::unexpected(Replace(index, std::move(reply.error())));
  if (auto* metered = std::get_if<MeteredReply>(&reply->content)) {
    if (IsAnswer(metered->reading, request)) return metered->reading;
  }
  return tl::unexpected(Ban(index, *reply, "The child gave no figures."));
}

Status ChildBlockTimer::CheckMeter(const MeterRequest& request) {
  if (!child_.has_value()) return Unavailable("No child to measure in: " + broken_);
  const auto reply = child_->Ask(MeterChildRequest{std::nullopt, request});
  if (!reply) return Unavailable(reply.error().message);
  if (std::holds_alternative<MeteredReply>(reply->content)) return Status::Ok();
  const auto* refused = std::get_if<RefusedReply>(&reply->content);
  return Unsupported(refused == nullptr ? "The child does not measure figures." : refused->message);
}

Status ChildBlockTimer::BanAndRestart(size_t index, Failure failure) {
  banned_.emplace(index, std::move(failure));
  return Restart();
}

// After the death of the child, or the loss of its device, at the hands of candidate `index`.
Failure ChildBlockTimer::Replace(size_t index, Failure failure) {
  ++generation_;
  NoteIfBroken(BanAndRestart(index, failure));
  return failure;
}

void ChildBlockTimer::NoteIfBroken(const Status& restarted) {
  if (restarted.ok()) return;
  broken_ = restarted.message();
  child_.reset();
}

Result<std::optional<DeviceConditions>> ChildBlockTimer::Conditions() {
  std::optional<DeviceConditions> untold;
  if (!child_.has_value() || remains_.asking_harms) return untold;
  const auto reply = child_->Ask(ConditionsRequest{});
  if (!reply) {
    remains_.asking_harms = true;
    ++generation_;
    NoteIfBroken(Restart());
    return Unavailable(reply.error().message);
  }
  const auto* told = std::get_if<ConditionsReply>(&reply->content);
  if (told == nullptr || told->conditions == DeviceConditions()) return untold;
  return std::optional(told->conditions);
}

void ChildBlockTimer::CollectBusy() {
  if (child_.has_value()) Append(remains_.busy, child_->TakeBusyTime());
}

}  // namespace attune
