#include "storage/nats/publish_together.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "storage/nats/handles.h"

namespace attune::nats {
namespace {

// Without an answer.
constexpr size_t kMostTogether = 256;

// The subject that answers to messages of one call come on, the number of each behind it.
class Answers {
 public:
  explicit Answers(const Connection& connection) {
    natsInbox* inbox = nullptr;
    if (natsInbox_Create(&inbox) != NATS_OK) return;
    subject_ = inbox;
    natsInbox_Destroy(inbox);
    natsSubscription* made = nullptr;
    const std::string all = subject_ + ".*";
    if (natsConnection_SubscribeSync(&made, connection.get(), all.c_str()) != NATS_OK) return;
    subscription_.reset(made);
  }

  bool is_open() const { return subscription_ != nullptr; }
  std::string SubjectOf(size_t number) const { return fmt::format("{}.{}", subject_, number); }

  // The next answer, null if none comes in time.
  MessageHandle Next(std::chrono::milliseconds wait) {
    natsMsg* answer = nullptr;
    (void)natsSubscription_NextMsg(&answer, subscription_.get(), wait.count());
    return MessageHandle(answer);
  }
  // The number of the message that it answers; what is none is beyond all messages.
  size_t NumberOf(const natsMsg* answer) const {
    std::string_view text = natsMsg_GetSubject(answer);
    text.remove_prefix(std::min(text.size(), subject_.size() + 1));
    size_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool is_number = error == std::errc() && end == text.data() + text.size();
    return is_number ? number : std::string::npos;
  }

 private:
  std::string subject_;
  SubscriptionHandle subscription_;
};

Published ReadAnswer(natsMsg* answer) {
  // It is empty where nobody keeps the subject.
  const auto said = nlohmann::json::parse(
      std::string_view(natsMsg_GetData(answer), static_cast<size_t>(natsMsg_GetDataLength(answer))),
      nullptr, false);
  if (!said.is_object() || said.contains("error") || !said.contains("seq")) {
    return Published::kUnknown;
  }
  const auto duplicate = said.find("duplicate");
  const bool is_duplicate = duplicate != said.end() && *duplicate == true;
  return is_duplicate ? Published::kDuplicate : Published::kAdded;
}

bool Send(const Connection& connection, const std::string& subject, const std::string& reply,
          const OutgoingMessage& message) {
  natsMsg* made = nullptr;
  natsStatus status = natsMsg_Create(&made, subject.c_str(), reply.c_str(), message.text.data(),
                                     static_cast<int>(message.text.size()));
  const MessageHandle owner(made);
  if (status == NATS_OK) status = natsMsgHeader_Set(made, "Nats-Msg-Id", message.id.c_str());
  if (status == NATS_OK) status = natsConnection_PublishMsg(connection.get(), made);
  return status == NATS_OK;
}

}  // namespace

std::vector<Published> PublishTogether(const Connection& connection, const std::string& subject,
                                       std::span<const OutgoingMessage> messages) {
  std::vector<Published> published(messages.size(), Published::kUnknown);
  // What is sent while the connection is away would be kept, and come behind what is sent later.
  if (natsConnection_Status(connection.get()) != NATS_CONN_STATUS_CONNECTED) return published;
  Answers answers(connection);
  size_t sent = 0;
  size_t answered = 0;
  while (answers.is_open() && answered < messages.size()) {
    while (sent < messages.size() && sent - answered < kMostTogether) {
      if (!Send(connection, subject, answers.SubjectOf(sent), messages[sent])) return published;
      ++sent;
    }
    const MessageHandle answer = answers.Next(connection.request_patience());
    if (answer == nullptr) break;
    ++answered;
    const size_t number = answers.NumberOf(answer.get());
    if (number < published.size()) published[number] = ReadAnswer(answer.get());
  }
  return published;
}

}  // namespace attune::nats
