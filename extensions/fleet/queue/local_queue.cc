#include "extensions/fleet/queue/local_queue.h"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace attune {
namespace {

int64_t Nanoseconds(std::chrono::milliseconds time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
}

}  // namespace

LocalQueue::LocalQueue(QueueTerms terms, std::function<int64_t()> now_ns)
    : terms_(terms), now_ns_(std::move(now_ns)) {
  assert(CheckTerms(terms).ok());
}

Result<int64_t> LocalQueue::Publish(const Channel& channel, std::span<const QueuedJob> jobs) {
  ATTUNE_RETURN_IF_ERROR(CheckPublished(jobs));
  const std::lock_guard lock(mutex_);
  Content& content = contents_[channel];
  ForgetOldDuplicates(content);
  int64_t added = 0;
  for (const QueuedJob& job : jobs) {
    if (content.published_ns.contains(job)) continue;
    if (!PutIn(content, job)) {
      return ResourceExhausted(fmt::format(
          "Job {} is not published: its channel has {} messages, the most that there may be. "
          "Publish when some are acknowledged.",
          job.job_id, kMostQueued));
    }
    ++added;
  }
  if (added > 0) changed_.notify_all();
  return added;
}

bool LocalQueue::PutIn(Content& content, const QueuedJob& job) {
  if (std::ssize(content.messages) >= kMostQueued) return false;
  content.messages.emplace(++last_number_, Message{job, 0, 0});
  content.published_ns.emplace(job, now_ns_());
  return true;
}

void LocalQueue::ForgetOldDuplicates(Content& content) {
  const int64_t oldest_ns = now_ns_() - Nanoseconds(terms_.duplicate_window);
  std::erase_if(content.published_ns,
                [&](const auto& published) { return published.second <= oldest_ns; });
}

Result<std::vector<Delivery>> LocalQueue::Take(const Channel& channel, int64_t most,
                                               std::chrono::milliseconds wait) {
  ATTUNE_RETURN_IF_ERROR(CheckTaking(most, wait));
  const auto deadline = std::chrono::steady_clock::now() + wait;
  std::unique_lock lock(mutex_);
  for (;;) {
    std::vector<Delivery> taken = TakeNow(channel, most);
    const auto now = std::chrono::steady_clock::now();
    if (!taken.empty() || now >= deadline) return taken;
    auto until = deadline;
    if (const auto due_ns = UntilDueNs(contents_[channel]); due_ns.has_value()) {
      until = std::min(until, now + std::chrono::nanoseconds(*due_ns));
    }
    changed_.wait_until(lock, until);
  }
}

std::vector<Delivery> LocalQueue::TakeNow(const Channel& channel, int64_t most) {
  const int64_t now_ns = now_ns_();
  Content& content = contents_[channel];
  std::vector<Delivery> taken;
  for (auto at = content.messages.begin();
       at != content.messages.end() && std::ssize(taken) < most;) {
    const auto message = at++;
    auto& [number, content_of] = *message;
    if (content_of.due_ns > now_ns) continue;
    if (content_of.deliveries >= terms_.most_deliveries) {
      BuryIn(content, message, DeliveredTooOften(content_of.deliveries));
      continue;
    }
    ++content_of.deliveries;
    content_of.due_ns = now_ns + Nanoseconds(terms_.ack_wait);
    taken.push_back({channel, content_of.job, content_of.deliveries, std::to_string(number)});
  }
  return taken;
}

std::optional<int64_t> LocalQueue::UntilDueNs(const Content& content) const {
  std::optional<int64_t> first_ns;
  for (const auto& [number, message] : content.messages) {
    first_ns = std::min(first_ns.value_or(message.due_ns), message.due_ns);
  }
  if (!first_ns.has_value()) return std::nullopt;
  // Looks again after a while, in case the clock does not advance.
  return std::max<int64_t>(*first_ns - now_ns_(), 1'000'000);
}

void LocalQueue::BuryIn(Content& content, std::map<int64_t, Message>::iterator message,
                        std::string_view reason) {
  content.dead.push_back({message->second.job, message->second.deliveries, AsReason(reason)});
  if (std::ssize(content.dead) > kMostDeadLetters) content.dead.pop_front();
  content.messages.erase(message);
}

Status LocalQueue::ChangeMessage(const Delivery& delivery, const Change& change) {
  int64_t number = 0;
  const char* const last = delivery.receipt.data() + delivery.receipt.size();
  const auto [end, error] = std::from_chars(delivery.receipt.data(), last, number);
  const std::lock_guard lock(mutex_);
  if (error != std::errc() || end != last || number < 1 || number > last_number_) {
    return InvalidArgument(
        fmt::format("The delivery of job {} is none of this queue's.", delivery.job.job_id));
  }
  Content& content = contents_[delivery.channel];
  const auto message = content.messages.find(number);
  if (message != content.messages.end()) change(content, message);
  return Status::Ok();
}

Status LocalQueue::Acknowledge(const Delivery& delivery) {
  return ChangeMessage(delivery,
                       [](Content& content, auto message) { content.messages.erase(message); });
}

Status LocalQueue::InProgress(const Delivery& delivery) {
  return ChangeMessage(delivery, [&](Content&, auto message) {
    message->second.due_ns = now_ns_() + Nanoseconds(terms_.ack_wait);
  });
}

Status LocalQueue::GiveBack(const Delivery& delivery) {
  return ChangeMessage(delivery, [&](Content&, auto message) {
    message->second.due_ns = 0;
    changed_.notify_all();
  });
}

Status LocalQueue::Bury(const Delivery& delivery, std::string_view reason) {
  return ChangeMessage(delivery,
                       [&](Content& content, auto message) { BuryIn(content, message, reason); });
}

Result<ChannelLoad> LocalQueue::Pending(const Channel& channel) {
  const std::lock_guard lock(mutex_);
  ChannelLoad load;
  for (const auto& [number, message] : contents_[channel].messages) {
    ++(message.deliveries == 0 ? load.waiting : load.taken);
  }
  return load;
}

Result<std::vector<DeadLetter>> LocalQueue::DeadLetters(const Channel& channel) {
  const std::lock_guard lock(mutex_);
  const std::deque<DeadLetter>& dead = contents_[channel].dead;
  return std::vector<DeadLetter>(dead.begin(), dead.end());
}

}  // namespace attune
