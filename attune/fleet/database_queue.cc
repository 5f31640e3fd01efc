#include "attune/fleet/database_queue.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "attune/base/steady_time.h"
#include "attune/fleet/channels.h"
#include "attune/fleet/fair_share.h"

namespace attune {
namespace {

constexpr int64_t kSessionsAreNewForNs = 500'000'000;
// A job that is loaded begins within this, and looking costs nobody much.
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

Result<std::vector<Delivery>> DatabaseQueue::Look(const Channel& channel, int64_t most) {
  ATTUNE_ASSIGN_OR_RETURN(const auto sessions, Sessions());
  std::vector<Backlog> backlogs;
  for (const Session& session : sessions) {
    if (ChannelOf(session.terms, channel.step) != channel) continue;
    ATTUNE_ASSIGN_OR_RETURN(backlogs.emplace_back(),
                            fleet_.BacklogOf(session.id, channel.step, most));
  }
  std::vector<Delivery> deliveries;
  for (const QueuedJob& job : ChooseFairly(backlogs, {}, most)) {
    deliveries.push_back({channel, job, 1, ""});
  }
  return deliveries;
}

Result<std::vector<Delivery>> DatabaseQueue::Take(const Channel& channel, int64_t most,
                                                  std::chrono::milliseconds wait) {
  ATTUNE_RETURN_IF_ERROR(CheckTaking(most, wait));
  const auto deadline = std::chrono::steady_clock::now() + wait;
  for (;;) {
    ATTUNE_ASSIGN_OR_RETURN(auto deliveries, Look(channel, most));
    const auto now = std::chrono::steady_clock::now();
    if (!deliveries.empty() || now >= deadline) return deliveries;
    std::this_thread::sleep_until(std::min(deadline, now + kLookEach));
  }
}

}  // namespace attune
