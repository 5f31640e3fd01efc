#include "extensions/fleet/nats/stalled_consumer.h"

#include <algorithm>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "attune/base/text.h"

namespace attune::nats {
namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr seconds kPatience{10};
constexpr nanoseconds kMostPatience = seconds(600);
constexpr int kMostDoublings = 6;  // From kPatience to kMostPatience.
constexpr int64_t kAnswerMs = 2'000;

// Asks once without repeating: the caller tries again later whatever the answer is.
Status AskOnce(const Connection& connection, const FleetNames& names, const Channel& channel,
               std::string_view request, std::string_view refused) {
  const std::string subject =
      fmt::format("$JS.API.CONSUMER.{}.{}.{}", request, names.jobs(), Token(channel));
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
  return Unavailable(fmt::format("The consumer of {} on the queue {} {}: {}.", Token(channel),
                                 connection.name(), refused, Excerpt(text)));
}

}  // namespace

std::optional<nanoseconds> PatienceWith(const ConsumerState& consumer, int64_t there,
                                        std::chrono::milliseconds ack_wait) {
  const ChannelLoad& load = consumer.load;
  if (there != load.waiting + load.taken) return kPatience;
  if (there == 0 || !consumer.is_asked) return std::nullopt;
  return load.waiting > 0 ? kPatience : nanoseconds(kPatience) + ack_wait;
}

int StallWatch::Look(const Channel& channel, std::optional<nanoseconds> patience, uint64_t given,
                     int64_t now_ns) {
  if (!patience.has_value()) {
    stalls_.erase(channel);
    return 0;
  }
  const Stall fresh{given, now_ns, 0};
  Stall& stall = stalls_.try_emplace(channel, fresh).first->second;
  if (given > stall.given) stall = fresh;
  // A new consumer has a smaller number: it has delivered nothing yet.
  stall.given = given;
  const nanoseconds wait =
      std::min(*patience * (1 << std::min(stall.times, kMostDoublings)), kMostPatience);
  if (now_ns - stall.begun_ns < wait.count()) return 0;
  stall.begun_ns = now_ns;
  return ++stall.times;
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
  return AskOnce(connection, names, channel, "LEADER.STEPDOWN", "got no other leader");
}

Status DropConsumer(const Connection& connection, const FleetNames& names, const Channel& channel) {
  return AskOnce(connection, names, channel, "DELETE", "was not removed");
}

}  // namespace attune::nats
