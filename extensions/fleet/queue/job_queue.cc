#include "extensions/fleet/queue/job_queue.h"

#include <utility>

#include <fmt/format.h>

namespace attune {
namespace {

constexpr std::chrono::milliseconds kLongestWait{60'000};

}  // namespace

Status CheckTerms(const QueueTerms& terms) {
  if (terms.ack_wait.count() > 0 && terms.most_deliveries > 0 &&
      terms.duplicate_window.count() > 0) {
    return Status::Ok();
  }
  return InvalidArgument(fmt::format(
      "The terms of a queue have to be positive: {} ms to acknowledge, {} deliveries, {} ms in "
      "which duplicates are known.",
      terms.ack_wait.count(), terms.most_deliveries, terms.duplicate_window.count()));
}

Status JobQueue::AcknowledgeAll(std::span<const Delivery> deliveries) {
  Status first;
  for (const Delivery& delivery : deliveries) {
    Status status = Acknowledge(delivery);
    if (first.ok()) first = std::move(status);
  }
  return first;
}

Status CheckPublished(std::span<const QueuedJob> jobs) {
  for (const QueuedJob& job : jobs) {
    if (job.job_id >= 1 && job.attempt >= 0) continue;
    return InvalidArgument(
        fmt::format("Job {} with attempt {} is not published: ids begin at 1 and attempts at 0.",
                    job.job_id, job.attempt));
  }
  return Status::Ok();
}

Status CheckTaking(int64_t most, std::chrono::milliseconds wait) {
  if (most >= 1 && most <= kMostTaken && wait.count() >= 0 && wait <= kLongestWait) {
    return Status::Ok();
  }
  return InvalidArgument(fmt::format(
      "From a queue 1 to {} jobs are taken at once, with a wait of 0 to {} ms; not {} with {} ms.",
      kMostTaken, kLongestWait.count(), most, wait.count()));
}

std::string DeliveredTooOften(int64_t times) {
  return fmt::format("It was delivered {} times and never acknowledged.", times);
}

}  // namespace attune
