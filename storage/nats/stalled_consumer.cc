#include "storage/nats/stalled_consumer.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "attune/base/text.h"

namespace attune::nats {
namespace {

constexpr int64_t kPatienceNs = 10'000'000'000;
constexpr int64_t kMostPatienceNs = 600'000'000'000;
constexpr int64_t kAnswerMs = 2'000;

}  // namespace

bool StallWatch::Look(const Channel& channel, bool lacks_messages, uint64_t given, int64_t now_ns) {
  if (!lacks_messages) {
    stalls_.erase(channel);
    return false;
  }
  const Stall fresh{given, now_ns, kPatienceNs};
  Stall& stall = stalls_.try_emplace(channel, fresh).first->second;
  if (stall.given != given) stall = fresh;
  if (now_ns - stall.begun_ns < stall.patience_ns) return false;
  stall.begun_ns = now_ns;
  stall.patience_ns = std::min(2 * stall.patience_ns, kMostPatienceNs);
  return true;
}

Result<int64_t> CountInStream(const Connection& connection, const FleetNames& names,
                              const Channel& channel) {
  const std::string stream = names.jobs();
  const std::string subject = names.jobs_subject(Token(channel));
  jsStreamInfo* made = nullptr;
  const Status status = connection.Ask("Counting messages", [&](int64_t wait_ms, jsErrCode& said) {
    jsOptions options;
    jsOptions_Init(&options);
    options.Wait = wait_ms;
    options.Stream.Info.SubjectsFilter = subject.c_str();
    return js_GetStreamInfo(&made, connection.context(), stream.c_str(), &options, &said);
  });
  const StreamInfoHandle info(made);
  ATTUNE_RETURN_IF_ERROR(status);
  int64_t count = 0;
  const jsStreamStateSubjects* const subjects = info->State.Subjects;
  for (int i = 0; subjects != nullptr && i < subjects->Count; ++i) {
    count += static_cast<int64_t>(subjects->List[i].Msgs);
  }
  return count;
}

Status MoveConsumer(const Connection& connection, const FleetNames& names, const Channel& channel) {
  const std::string subject =
      fmt::format("$JS.API.CONSUMER.LEADER.STEPDOWN.{}.{}", names.jobs(), Token(channel));
  natsMsg* reply = nullptr;
  const natsStatus status =
      natsConnection_RequestString(&reply, connection.get(), subject.c_str(), "", kAnswerMs);
  const MessageHandle owner(reply);
  const std::string text =
      status == NATS_OK
          ? std::string(natsMsg_GetData(reply), static_cast<size_t>(natsMsg_GetDataLength(reply)))
          : std::string(natsStatus_GetText(status));
  const auto said = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (said.is_object() && said.value("success", nlohmann::json()) == true) return Status::Ok();
  return Unavailable(fmt::format("The consumer of {} on the queue {} got no other leader: {}.",
                                 Token(channel), connection.name(), Excerpt(text)));
}

}  // namespace attune::nats
