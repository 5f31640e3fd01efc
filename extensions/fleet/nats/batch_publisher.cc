#include "extensions/fleet/nats/batch_publisher.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace attune::nats {
namespace {

// Messages sent ahead of their answers.
constexpr size_t kMostTogether = 256;

Published ReadAnswer(natsMsg* answer) {
  // The answer is empty if no stream keeps the subject.
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

}  // namespace

bool BatchPublisher::Listen() {
  // The library buffers messages sent while disconnected, and would deliver them after later ones.
  if (natsConnection_Status(connection_.get()) != NATS_CONN_STATUS_CONNECTED) return false;
  if (answers_ != nullptr) return true;
  natsInbox* inbox = nullptr;
  if (natsInbox_Create(&inbox) != NATS_OK) return false;
  inbox_ = inbox;
  natsInbox_Destroy(inbox);
  natsSubscription* made = nullptr;
  const std::string all = inbox_ + ".*";
  (void)natsConnection_SubscribeSync(&made, connection_.get(), all.c_str());
  answers_.reset(made);
  return answers_ != nullptr;
}

bool BatchPublisher::Send(const std::string& subject, int64_t number,
                          const OutgoingMessage& message) const {
  const std::string reply = fmt::format("{}.{}", inbox_, number);
  natsMsg* made = nullptr;
  natsStatus status = natsMsg_Create(&made, subject.c_str(), reply.c_str(), message.text.data(),
                                     static_cast<int>(message.text.size()));
  const MessageHandle owner(made);
  if (status == NATS_OK) status = natsMsgHeader_Set(made, "Nats-Msg-Id", message.id.c_str());
  if (status == NATS_OK) status = natsConnection_PublishMsg(connection_.get(), made);
  return status == NATS_OK;
}

int64_t BatchPublisher::NumberOf(const natsMsg* answer) const {
  std::string_view text = natsMsg_GetSubject(answer);
  text.remove_prefix(std::min(text.size(), inbox_.size() + 1));
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : 0;
}

std::vector<Published> BatchPublisher::Publish(const std::string& subject,
                                               std::span<const OutgoingMessage> messages) {
  std::vector<Published> published(messages.size(), Published::kUnknown);
  const std::lock_guard lock(mutex_);
  if (!Listen()) return published;
  const int64_t first = next_number_;
  const int64_t wait_ms = connection_.request_patience().count();
  size_t sent = 0;
  size_t answered = 0;
  while (answered < messages.size()) {
    for (; sent < messages.size() && sent - answered < kMostTogether; ++sent) {
      if (!Send(subject, next_number_++, messages[sent])) return published;
    }
    natsMsg* next = nullptr;
    const natsStatus status = natsSubscription_NextMsg(&next, answers_.get(), wait_ms);
    const MessageHandle answer(next);
    // The library withholds the answer that no stream keeps the subject.
    if (status != NATS_OK) return published;
    // A late answer to an earlier call concerns none of these.
    const int64_t number = NumberOf(answer.get());
    if (number < first || number >= next_number_) continue;
    ++answered;
    published[static_cast<size_t>(number - first)] = ReadAnswer(answer.get());
  }
  return published;
}

}  // namespace attune::nats
