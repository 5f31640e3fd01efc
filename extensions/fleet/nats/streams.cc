#include "extensions/fleet/nats/streams.h"

#include <algorithm>

#include <fmt/format.h>

namespace attune::nats {
namespace {

// Deliveries beyond the bound are for burying alone. So many may be lost with clients that were
// about to bury, before the server stops delivering as well.
constexpr int64_t kBurials = 16;
constexpr int64_t kDeadAgeNs = int64_t{30} * 24 * 3600 * 1'000'000'000;
constexpr int32_t kMostMessageBytes = 4096;

int64_t Nanoseconds(std::chrono::milliseconds time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
}

// The stream of jobs: a message stays until it is acknowledged.
void SetJobs(const QueueTerms& terms, jsStreamConfig& stream) {
  stream.Retention = js_WorkQueuePolicy;
  stream.Discard = js_DiscardNew;
  stream.DiscardNewPerSubject = true;
  stream.MaxMsgsPerSubject = kMostQueued;
  stream.Duplicates = Nanoseconds(terms.duplicate_window);
}

// The stream of dead letters: the newest of each channel, until they expire.
void SetDead(const QueueTerms& terms, jsStreamConfig& stream) {
  stream.Retention = js_LimitsPolicy;
  stream.Discard = js_DiscardOld;
  stream.MaxMsgsPerSubject = kMostDeadLetters;
  stream.MaxAge = kDeadAgeNs;
  stream.AllowDirect = true;
  stream.Duplicates = std::min(Nanoseconds(terms.duplicate_window), kDeadAgeNs);
}

Status CheckStream(const jsStreamConfig& found, const jsStreamConfig& wanted, bool any_replicas) {
  const auto differs = [&](const char* what, int64_t there, int64_t here) {
    return FailedPrecondition(fmt::format(
        "The stream '{}' is there with {} {} and not with {}. Give it those of this attune, or "
        "another fleet to this URL (?fleet=NAME).",
        wanted.Name, what, there, here));
  };
  if (found.Retention != wanted.Retention) {
    return differs("the retention", found.Retention, wanted.Retention);
  }
  if (found.Storage != wanted.Storage) return differs("the storage", found.Storage, wanted.Storage);
  if (!any_replicas && found.Replicas != wanted.Replicas) {
    return differs("replicas", found.Replicas, wanted.Replicas);
  }
  if (found.MaxMsgsPerSubject != wanted.MaxMsgsPerSubject) {
    return differs("messages for each subject", found.MaxMsgsPerSubject, wanted.MaxMsgsPerSubject);
  }
  if (found.Duplicates != wanted.Duplicates) {
    return differs("a window of duplicates (ns)", found.Duplicates, wanted.Duplicates);
  }
  return Status::Ok();
}

Status EnsureStream(const Connection& connection, jsStreamConfig& wanted, int replicas) {
  jsErrCode code{};
  jsStreamInfo* made = nullptr;
  wanted.Storage = js_FileStorage;
  wanted.MaxMsgSize = kMostMessageBytes;
  wanted.Replicas = std::max(replicas, 1);
  Status status = connection.Ask(
      fmt::format("Reading about the stream '{}'", wanted.Name),
      [&](int64_t wait_ms, jsErrCode& said) {
        jsOptions options;
        jsOptions_Init(&options);
        options.Wait = wait_ms;
        return js_GetStreamInfo(&made, connection.context(), wanted.Name, &options, &said);
      },
      &code);
  if (!status.ok() && code == JSStreamNotFoundErr) {
    // Another process may make it at the same time; with the same settings that is no error.
    status = connection.Ask(
        fmt::format("Making the stream '{}'", wanted.Name), [&](int64_t wait_ms, jsErrCode& said) {
          jsOptions options;
          jsOptions_Init(&options);
          options.Wait = wait_ms;
          return js_AddStream(&made, connection.context(), &wanted, &options, &said);
        });
  }
  const StreamInfoHandle info(made);
  ATTUNE_RETURN_IF_ERROR(status);
  return CheckStream(*info->Config, wanted, replicas == 0);
}

Result<ConsumerState> CheckedState(const jsConsumerInfo& info, const jsConsumerConfig& wanted) {
  if (info.Config->AckWait != wanted.AckWait || info.Config->MaxDeliver != wanted.MaxDeliver) {
    return FailedPrecondition(fmt::format(
        "The consumer '{}' is there with {} ns to acknowledge and {} deliveries, and not with {} "
        "and {}: another version of attune made it. Remove it when nobody works, and it is made "
        "anew.",
        wanted.Durable, info.Config->AckWait, info.Config->MaxDeliver, wanted.AckWait,
        wanted.MaxDeliver));
  }
  return ConsumerState{{static_cast<int64_t>(info.NumPending), info.NumAckPending},
                       info.Delivered.Consumer,
                       info.NumWaiting > 0,
                       info.Cluster != nullptr && info.Cluster->ReplicasLen > 0};
}

}  // namespace

Status EnsureStreams(const Connection& connection, const NatsUrl& url, const QueueTerms& terms) {
  const FleetNames names{url.fleet};
  const std::string jobs = names.jobs();
  const std::string dead = names.dead();
  const std::string jobs_subjects = names.jobs_subject("*");
  const std::string dead_subjects = names.dead_subject("*");
  const char* subject = jobs_subjects.c_str();
  jsStreamConfig stream;
  jsStreamConfig_Init(&stream);
  stream.Name = jobs.c_str();
  stream.Subjects = &subject;
  stream.SubjectsLen = 1;
  SetJobs(terms, stream);
  ATTUNE_RETURN_IF_ERROR(EnsureStream(connection, stream, url.replicas));
  jsStreamConfig_Init(&stream);
  subject = dead_subjects.c_str();
  stream.Name = dead.c_str();
  stream.Subjects = &subject;
  stream.SubjectsLen = 1;
  SetDead(terms, stream);
  return EnsureStream(connection, stream, url.replicas);
}

Result<ConsumerState> EnsureConsumer(const Connection& connection, const NatsUrl& url,
                                     const Channel& channel, const QueueTerms& terms) {
  const FleetNames names{url.fleet};
  const std::string token = Token(channel);
  const std::string subject = names.jobs_subject(token);
  const std::string stream = names.jobs();
  jsConsumerConfig wanted;
  jsConsumerConfig_Init(&wanted);
  wanted.Durable = token.c_str();
  wanted.FilterSubject = subject.c_str();
  wanted.DeliverPolicy = js_DeliverAll;
  wanted.AckPolicy = js_AckExplicit;
  wanted.AckWait = Nanoseconds(terms.ack_wait);
  wanted.MaxDeliver = terms.most_deliveries + kBurials;
  wanted.MaxAckPending = kMostQueued;
  jsErrCode code{};
  jsConsumerInfo* made = nullptr;
  Status status = connection.Ask(
      "Reading about a consumer",
      [&](int64_t wait_ms, jsErrCode& said) {
        jsOptions options;
        jsOptions_Init(&options);
        options.Wait = wait_ms;
        return js_GetConsumerInfo(&made, connection.context(), stream.c_str(), token.c_str(),
                                  &options, &said);
      },
      &code);
  if (!status.ok() && code == JSStreamNotFoundErr) {
    // The server has lost its disk. A server of a cluster that has just started knows no stream
    // yet, and makes none that the others have.
    ATTUNE_RETURN_IF_ERROR(EnsureStreams(connection, url, terms));
    code = JSConsumerNotFoundErr;
  }
  if (!status.ok() && code == JSConsumerNotFoundErr) {
    status = connection.Ask("Making a consumer", [&](int64_t wait_ms, jsErrCode& said) {
      jsOptions options;
      jsOptions_Init(&options);
      options.Wait = wait_ms;
      return js_AddConsumer(&made, connection.context(), stream.c_str(), &wanted, &options, &said);
    });
  }
  const ConsumerInfoHandle info(made);
  ATTUNE_RETURN_IF_ERROR(status);
  return CheckedState(*info, wanted);
}

}  // namespace attune::nats
