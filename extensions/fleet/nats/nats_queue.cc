#include "extensions/fleet/nats/nats_queue.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "attune/base/steady_time.h"
#include "attune/base/text.h"
#include "extensions/fleet/nats/batch_publisher.h"
#include "extensions/fleet/nats/connection.h"
#include "extensions/fleet/nats/dead_letters.h"
#include "extensions/fleet/nats/nats_url.h"
#include "extensions/fleet/nats/stalled_consumer.h"
#include "extensions/fleet/nats/streams.h"

namespace attune {
namespace {

using nats::Connection;
using nats::FleetNames;
using nats::MessageHandle;
using nats::Published;
using nats::SubscriptionHandle;

constexpr int64_t kNsPerMs = 1'000'000;
// The minimum wait for a server's answer: with a wait of 0 the library gives up at once. Messages
// that arrive later stay for the next take.
constexpr int64_t kLeastWaitMs = 100;

// JetStream's replies to a delivery.
constexpr std::string_view kAcknowledged = "+ACK";
constexpr std::string_view kGivenBack = "-NAK";
constexpr std::string_view kInProgress = "+WPI";
constexpr std::string_view kTerminated = "+TERM";

// One delivery, with any message.
struct Received {
  std::string text;
  int64_t times = 0;
  std::string id;       // Unique among all messages the stream ever had.
  std::string receipt;  // The subject of its acknowledgement.
};

Result<Received> ReadDelivery(natsMsg* message) {
  jsMsgMetaData* data = nullptr;
  const natsStatus status = natsMsg_GetMetaData(&data, message);
  const nats::DeliveryDataHandle owner(data);
  const char* const receipt = natsMsg_GetReply(message);
  if (status != NATS_OK || receipt == nullptr) {
    return Internal("The queue gave a message that does not say how it is acknowledged.");
  }
  return Received{
      std::string(natsMsg_GetData(message), static_cast<size_t>(natsMsg_GetDataLength(message))),
      static_cast<int64_t>(data->NumDelivered),
      fmt::format("{}.{}", data->Sequence.Stream, data->Timestamp), receipt};
}

// A receipt is a subject: a subject outside JetStream's would reach any subscriber.
Status CheckReceipt(std::string_view receipt) {
  constexpr std::string_view kPrefix = "$JS.ACK.";
  constexpr size_t kLongest = 512;
  const bool is_subject = std::all_of(receipt.begin(), receipt.end(), [](char c) {
    return c > ' ' && c < '\x7f' && c != '*' && c != '>';
  });
  if (receipt.starts_with(kPrefix) && receipt.size() <= kLongest && is_subject) {
    return Status::Ok();
  }
  return InvalidArgument(
      fmt::format("The receipt '{}' is none of a queue on NATS.", Excerpt(receipt)));
}

class NatsQueue final : public JobQueue {
 public:
  NatsQueue(std::unique_ptr<Connection> connection, const nats::NatsUrl& url, QueueTerms terms)
      : connection_(std::move(connection)),
        batches_(*connection_),
        url_(url),
        names_{url.fleet},
        terms_(terms) {}

  Result<int64_t> Publish(const Channel& channel, std::span<const QueuedJob> jobs) override;
  Result<std::vector<Delivery>> Take(const Channel& channel, int64_t most,
                                     std::chrono::milliseconds wait) override;
  Status Acknowledge(const Delivery& delivery) override {
    return Answer("Acknowledging", delivery.receipt, kAcknowledged);
  }
  Status AcknowledgeAll(std::span<const Delivery> deliveries) override;
  Status InProgress(const Delivery& delivery) override {
    return Answer("Keeping", delivery.receipt, kInProgress);
  }
  Status GiveBack(const Delivery& delivery) override {
    return Answer("Giving back", delivery.receipt, kGivenBack);
  }
  Status Bury(const Delivery& delivery, std::string_view reason) override;
  Result<ChannelLoad> Pending(const Channel& channel) override;
  Result<std::vector<DeadLetter>> DeadLetters(const Channel& channel) override {
    return nats::ReadDeadLetters(*connection_, names_, names_.dead_subject(Token(channel)));
  }

 private:
  Status Answer(std::string_view what, const std::string& receipt, std::string_view answer);
  // True if the message had not been published before.
  Result<bool> PublishOne(const std::string& subject, int64_t job_id,
                          const nats::OutgoingMessage& message);
  // Publishes a dead letter first, so that at least one stream has the message.
  Status BuryReceived(const Channel& channel, const Received& received, const QueuedJob& job,
                      std::string_view reason);
  Result<SubscriptionHandle> NewSubscription(const Channel& channel);
  Result<SubscriptionHandle> TakeSubscription(const Channel& channel);
  void KeepSubscription(const Channel& channel, SubscriptionHandle subscription);
  static natsStatus FetchOnce(natsSubscription* subscription, int most, int64_t wait_ms,
                              std::vector<MessageHandle>& messages);
  Result<std::vector<Received>> Fetch(const Channel& channel, int64_t most, int64_t wait_ms);
  // The deliveries that can be handed out; buries the rest of `received`.
  Result<std::vector<Delivery>> Sorted(const Channel& channel,
                                       const std::vector<Received>& received);

  const std::unique_ptr<Connection> connection_;
  nats::BatchPublisher batches_;
  const nats::NatsUrl url_;
  const FleetNames names_;
  const QueueTerms terms_;
  std::mutex mutex_;  // Guards the members below.
  nats::StallWatch stalls_;
  // As many per channel as were ever in use at once: the library has one fetch for each.
  std::map<Channel, std::vector<SubscriptionHandle>> free_;
};

Result<int64_t> NatsQueue::Publish(const Channel& channel, std::span<const QueuedJob> jobs) {
  ATTUNE_RETURN_IF_ERROR(CheckPublished(jobs));
  const std::string token = Token(channel);
  const std::string subject = names_.jobs_subject(token);
  std::vector<nats::OutgoingMessage> messages;
  for (const QueuedJob& job : jobs) {
    // Streams detect duplicates, and a job can be published for two channels.
    messages.push_back({fmt::format("{}.{}", token, MessageId(job)), MessageText(job)});
  }
  const auto published = batches_.Publish(subject, messages);
  int64_t added = std::count(published.begin(), published.end(), Published::kAdded);
  for (size_t i = 0; i < jobs.size(); ++i) {
    if (published[i] != Published::kUnknown) continue;
    ATTUNE_ASSIGN_OR_RETURN(const bool is_new, PublishOne(subject, jobs[i].job_id, messages[i]));
    if (is_new) ++added;
  }
  return added;
}

Result<bool> NatsQueue::PublishOne(const std::string& subject, int64_t job_id,
                                   const nats::OutgoingMessage& message) {
  jsPubAck* published = nullptr;
  const Status status = connection_->Ask(
      fmt::format("Publishing job {}", job_id), [&](int64_t wait_ms, jsErrCode& said) {
        jsPubOptions options;
        jsPubOptions_Init(&options);
        options.MaxWait = wait_ms;
        options.MsgId = message.id.c_str();
        return js_Publish(&published, connection_->context(), subject.c_str(), message.text.data(),
                          static_cast<int>(message.text.size()), &options, &said);
      });
  const nats::PublishedHandle owner(published);
  ATTUNE_RETURN_IF_ERROR(status);
  return !published->Duplicate;
}

Result<std::vector<Delivery>> NatsQueue::Take(const Channel& channel, int64_t most,
                                              std::chrono::milliseconds wait) {
  ATTUNE_RETURN_IF_ERROR(CheckTaking(most, wait));
  const int64_t deadline_ns = SteadyNowNs() + wait.count() * kNsPerMs;
  // Takes the messages that exist first. A take that still waits asks for one message: the library
  // may wait until it has the full number, and holds back those it has.
  int64_t wait_ms = kLeastWaitMs;
  for (;;) {
    ATTUNE_ASSIGN_OR_RETURN(const std::vector<Received> received, Fetch(channel, most, wait_ms));
    ATTUNE_ASSIGN_OR_RETURN(std::vector<Delivery> taken, Sorted(channel, received));
    const int64_t left_ms = (deadline_ns - SteadyNowNs()) / kNsPerMs;
    if (!taken.empty() || (received.empty() && left_ms <= 0)) return taken;
    // If all of them were buried, more may be there at once.
    if (!received.empty()) continue;
    most = 1;
    wait_ms = std::max(left_ms, kLeastWaitMs);
  }
}

Result<std::vector<Delivery>> NatsQueue::Sorted(const Channel& channel,
                                                const std::vector<Received>& received) {
  std::vector<Delivery> taken;
  Status buried;
  for (const Received& each : received) {
    const auto job = ParseMessage(each.text);
    Status status;
    if (!job.ok()) {
      status = BuryReceived(channel, each, {}, job.error().message());
    } else if (each.times > terms_.most_deliveries) {
      status = BuryReceived(channel, each, *job, DeliveredTooOften(terms_.most_deliveries));
    } else {
      taken.push_back({channel, *job, each.times, each.receipt});
    }
    if (!status.ok()) buried = status;
  }
  // Messages that were not buried come again, so they do not block the deliveries.
  if (taken.empty() && !buried.ok()) return buried;
  return taken;
}

Status NatsQueue::BuryReceived(const Channel& channel, const Received& received,
                               const QueuedJob& job, std::string_view reason) {
  const int64_t deliveries = std::min(received.times, terms_.most_deliveries);
  ATTUNE_RETURN_IF_ERROR(nats::PutDeadLetter(*connection_, names_.dead_subject(Token(channel)),
                                             received.id, {job, deliveries, AsReason(reason)}));
  return Answer("Burying", received.receipt, kTerminated);
}

Status NatsQueue::AcknowledgeAll(std::span<const Delivery> deliveries) {
  Status first;
  for (size_t i = 0; i < deliveries.size(); ++i) {
    // The answer to the last message confirms all earlier ones.
    const bool is_last = i + 1 == deliveries.size();
    Status status = is_last ? Acknowledge(deliveries[i]) : CheckReceipt(deliveries[i].receipt);
    if (!is_last && status.ok()) {
      // A lost one comes again.
      (void)natsConnection_Publish(connection_->get(), deliveries[i].receipt.c_str(),
                                   kAcknowledged.data(), static_cast<int>(kAcknowledged.size()));
    }
    if (first.ok()) first = std::move(status);
  }
  return first;
}

Result<ChannelLoad> NatsQueue::Pending(const Channel& channel) {
  ATTUNE_ASSIGN_OR_RETURN(const nats::ConsumerState consumer,
                          nats::EnsureConsumer(*connection_, url_, channel, terms_));
  std::optional<std::chrono::nanoseconds> patience;
  if (consumer.has_followers) {
    ATTUNE_ASSIGN_OR_RETURN(const int64_t there,
                            nats::CountInStream(*connection_, names_, channel));
    patience = nats::PatienceWith(consumer, there, terms_.ack_wait);
  }
  int times_stalled = 0;
  {
    const std::lock_guard lock(mutex_);
    times_stalled = stalls_.Look(channel, patience, consumer.given, SteadyNowNs());
  }
  // If this fails, everything stays as it is until the next try. The harmless step comes first.
  if (times_stalled == 1) (void)nats::MoveConsumer(*connection_, names_, channel);
  if (times_stalled > 1) (void)nats::DropConsumer(*connection_, names_, channel);
  return consumer.load;
}

Status NatsQueue::Bury(const Delivery& delivery, std::string_view reason) {
  const std::string token = Token(delivery.channel);
  ATTUNE_RETURN_IF_ERROR(CheckReceipt(delivery.receipt));
  ATTUNE_RETURN_IF_ERROR(nats::PutDeadLetter(*connection_, names_.dead_subject(token),
                                             fmt::format("{}.{}", token, MessageId(delivery.job)),
                                             {delivery.job, delivery.times, AsReason(reason)}));
  return Answer("Burying", delivery.receipt, kTerminated);
}

Status NatsQueue::Answer(std::string_view what, const std::string& receipt,
                         std::string_view answer) {
  ATTUNE_RETURN_IF_ERROR(CheckReceipt(receipt));
  // The server confirms it.
  return connection_->Ask(fmt::format("{} a message", what), [&](int64_t wait_ms, jsErrCode&) {
    natsMsg* reply = nullptr;
    const natsStatus status =
        natsConnection_Request(&reply, connection_->get(), receipt.c_str(), answer.data(),
                               static_cast<int>(answer.size()), wait_ms);
    natsMsg_Destroy(reply);
    return status;
  });
}

Result<SubscriptionHandle> NatsQueue::NewSubscription(const Channel& channel) {
  ATTUNE_RETURN_IF_ERROR(nats::EnsureConsumer(*connection_, url_, channel, terms_).status());
  const std::string token = Token(channel);
  const std::string subject = names_.jobs_subject(token);
  const std::string stream = names_.jobs();
  natsSubscription* made = nullptr;
  const Status status = connection_->Ask("Subscribing", [&](int64_t wait_ms, jsErrCode& said) {
    jsOptions options;
    jsOptions_Init(&options);
    options.Wait = wait_ms;
    jsSubOptions bound;
    jsSubOptions_Init(&bound);
    bound.Stream = stream.c_str();
    bound.Consumer = token.c_str();
    return js_PullSubscribe(&made, connection_->context(), subject.c_str(), token.c_str(), &options,
                            &bound, &said);
  });
  SubscriptionHandle subscription(made);
  ATTUNE_RETURN_IF_ERROR(status);
  return subscription;
}

Result<SubscriptionHandle> NatsQueue::TakeSubscription(const Channel& channel) {
  {
    const std::lock_guard lock(mutex_);
    std::vector<SubscriptionHandle>& free = free_[channel];
    if (!free.empty()) {
      SubscriptionHandle subscription = std::move(free.back());
      free.pop_back();
      return subscription;
    }
  }
  return NewSubscription(channel);
}

void NatsQueue::KeepSubscription(const Channel& channel, SubscriptionHandle subscription) {
  const std::lock_guard lock(mutex_);
  free_[channel].push_back(std::move(subscription));
}

natsStatus NatsQueue::FetchOnce(natsSubscription* subscription, int most, int64_t wait_ms,
                                std::vector<MessageHandle>& messages) {
  natsMsgList list{};
  const natsStatus status = natsSubscription_Fetch(&list, subscription, most, wait_ms, nullptr);
  for (int i = 0; i < list.Count; ++i) {
    messages.emplace_back(std::exchange(list.Msgs[i], nullptr));
  }
  natsMsgList_Destroy(&list);
  return status;
}

Result<std::vector<Received>> NatsQueue::Fetch(const Channel& channel, int64_t most,
                                               int64_t wait_ms) {
  constexpr std::string_view kWhat = "Taking jobs";
  // Tries a second time if the server forgot the consumer.
  for (int attempt = 0; attempt < 2; ++attempt) {
    ATTUNE_ASSIGN_OR_RETURN(SubscriptionHandle subscription, TakeSubscription(channel));
    std::vector<MessageHandle> messages;
    const natsStatus status =
        FetchOnce(subscription.get(), static_cast<int>(most), wait_ms, messages);
    if (status == NATS_OK || status == NATS_TIMEOUT || status == NATS_NOT_FOUND) {
      KeepSubscription(channel, std::move(subscription));
      std::vector<Received> received;
      for (const MessageHandle& message : messages) {
        ATTUNE_ASSIGN_OR_RETURN(Received read, ReadDelivery(message.get()));
        received.push_back(std::move(read));
      }
      // An empty result also comes from a server that is away or has lost the consumer.
      if (received.empty()) {
        ATTUNE_RETURN_IF_ERROR(nats::EnsureConsumer(*connection_, url_, channel, terms_).status());
      }
      return received;
    }
    // Keeps a subscription that still works: the library (3.5 and before) may be about to lock one
    // for which it has a message.
    if (natsSubscription_IsValid(subscription.get())) {
      KeepSubscription(channel, std::move(subscription));
    }
    ATTUNE_RETURN_IF_ERROR(nats::EnsureConsumer(*connection_, url_, channel, terms_).status());
  }
  return Unavailable(
      fmt::format("{} failed on the queue {} twice, though its server answers. Try again.", kWhat,
                  connection_->name()));
}

}  // namespace

Result<std::unique_ptr<JobQueue>> OpenNatsQueue(const std::string& url,
                                                const NatsQueueOptions& options) {
  ATTUNE_RETURN_IF_ERROR(CheckTerms(options.terms));
  if (options.patience.count() <= 0) {
    return InvalidArgument("The patience with a queue has to be positive.");
  }
  ATTUNE_ASSIGN_OR_RETURN(const nats::NatsUrl parsed, nats::ParseNatsUrl(url));
  ATTUNE_ASSIGN_OR_RETURN(std::unique_ptr<Connection> connection,
                          Connection::Open(parsed, options.patience, options.outages));
  ATTUNE_RETURN_IF_ERROR(nats::EnsureStreams(*connection, parsed, options.terms));
  return std::unique_ptr<JobQueue>(
      std::make_unique<NatsQueue>(std::move(connection), parsed, options.terms));
}

}  // namespace attune
