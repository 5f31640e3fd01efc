// The queue of one process.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "attune/base/steady_time.h"
#include "extensions/fleet/queue/job_queue.h"

namespace attune {

// Ends with its process, which loses nothing that the database does not know. No call waits, except
// Take() for published messages.
class LocalQueue final : public JobQueue {
 public:
  // Redeliveries and duplicates use `now_ns`, a clock in nanoseconds that never goes back; the
  // waiting of Take() uses the system's. REQUIRES: CheckTerms(terms) is ok.
  explicit LocalQueue(QueueTerms terms = {}, std::function<int64_t()> now_ns = SteadyNowNs);

  Result<int64_t> Publish(const Channel& channel, std::span<const QueuedJob> jobs) override;
  Result<std::vector<Delivery>> Take(const Channel& channel, int64_t most,
                                     std::chrono::milliseconds wait) override;
  Status Acknowledge(const Delivery& delivery) override;
  Status InProgress(const Delivery& delivery) override;
  Status GiveBack(const Delivery& delivery) override;
  Status Bury(const Delivery& delivery, std::string_view reason) override;
  Result<ChannelLoad> Pending(const Channel& channel) override;
  Result<std::vector<DeadLetter>> DeadLetters(const Channel& channel) override;

 private:
  struct Message {
    QueuedJob job;
    int64_t deliveries = 0;
    int64_t due_ns = 0;  // Not given before.
  };
  struct Content {
    std::map<int64_t, Message> messages;  // By their number in the order of publishing.
    std::map<QueuedJob, int64_t> published_ns;
    std::deque<DeadLetter> dead;
  };
  using Change =
      std::function<void(Content& content, std::map<int64_t, Message>::iterator message)>;

  // These need mutex_.
  bool PutIn(Content& content, const QueuedJob& job);
  void ForgetOldDuplicates(Content& content);
  std::vector<Delivery> TakeNow(const Channel& channel, int64_t most);
  static void BuryIn(Content& content, std::map<int64_t, Message>::iterator message,
                     std::string_view reason);
  // The longest time until a message of `content` is due; nothing if none will be.
  std::optional<int64_t> UntilDueNs(const Content& content) const;

  // Applies `change` to the message of `delivery`, if it exists.
  Status ChangeMessage(const Delivery& delivery, const Change& change);

  const QueueTerms terms_;
  const std::function<int64_t()> now_ns_;
  std::mutex mutex_;  // Guards everything below.
  std::condition_variable changed_;
  std::map<Channel, Content> contents_;
  int64_t last_number_ = 0;
};

}  // namespace attune
