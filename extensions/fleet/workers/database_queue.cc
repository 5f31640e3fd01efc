#include "extensions/fleet/workers/database_queue.h"

#include <algorithm>
#include <utility>

#include "attune/base/steady_time.h"
#include "extensions/fleet/workers/channels.h"
#include "extensions/fleet/workers/fair_share.h"

namespace attune {
namespace {

constexpr int64_t kSessionsAreNewForNs = 500'000'000;
// A loaded job begins within this time, and looking costs little.
constexpr std::chrono::milliseconds kLookEach{80};

}  // namespace

Result<std::vector<Session>> DatabaseQueue::Sessions() {
  const std::lock_guard lock(mutex_);
  const int64_t now_ns = SteadyNowNs();
  if (read_ns_ == 0 || now_ns - read_ns_ > kSessionsAreNewForNs) {
    ATTUNE_ASSIGN_OR_RETURN(sessions_, fleet_.OpenSessions());
    read_ns_ = now_ns;
  }
  return sessions_;
}

Status DatabaseQueue::Fill(const Channel& channel, int64_t most) {
  ATTUNE_ASSIGN_OR_RETURN(const auto sessions, Sessions());
  std::vector<Backlog> backlogs;
  for (const Session& session : sessions) {
    if (ChannelOf(session.terms, channel.step) != channel) continue;
    ATTUNE_ASSIGN_OR_RETURN(backlogs.emplace_back(),
                            fleet_.BacklogOf(session.id, channel.step, most));
  }
  const std::lock_guard lock(mutex_);
  int64_t& last_session_id = last_session_ids_[channel];
  const FairChoice choice = ChooseFairly(backlogs, {}, most, last_session_id);
  const Status status = given_.Publish(channel, choice.jobs).status();
  if (status.ok()) last_session_id = choice.last_session_id;
  // Too many are in work for more.
  return status.code() == StatusCode::kResourceExhausted ? Status::Ok() : status;
}

Result<std::vector<Delivery>> DatabaseQueue::Take(const Channel& channel, int64_t most,
                                                  std::chrono::milliseconds wait) {
  using std::chrono::milliseconds;
  ATTUNE_RETURN_IF_ERROR(CheckTaking(most, wait));
  const auto deadline = std::chrono::steady_clock::now() + wait;
  for (;;) {
    ATTUNE_ASSIGN_OR_RETURN(const ChannelLoad load, given_.Pending(channel));
    if (load.waiting == 0) ATTUNE_RETURN_IF_ERROR(Fill(channel, most));
    const auto left = std::chrono::ceil<milliseconds>(deadline - std::chrono::steady_clock::now());
    ATTUNE_ASSIGN_OR_RETURN(
        auto taken, given_.Take(channel, most, std::clamp(left, milliseconds(0), kLookEach)));
    if (!taken.empty() || left <= milliseconds(0)) return taken;
  }
}

}  // namespace attune
