#include "extensions/fleet/nats/dead_letters.h"

#include <string_view>

#include "extensions/fleet/queue/job_queue.h"

namespace attune::nats {
namespace {

// The next letter of `subject` from number `next` on; null if there is none.
Result<MessageHandle> NextLetter(const Connection& connection, const std::string& stream,
                                 const std::string& subject, uint64_t next) {
  natsMsg* message = nullptr;
  bool is_there = true;
  ATTUNE_RETURN_IF_ERROR(connection.Ask("Reading dead letters", [&](int64_t wait_ms, jsErrCode&) {
    jsOptions options;
    jsOptions_Init(&options);
    options.Wait = wait_ms;
    jsDirectGetMsgOptions wanted;
    jsDirectGetMsgOptions_Init(&wanted);
    wanted.Sequence = next;
    wanted.NextBySubject = subject.c_str();
    const natsStatus status =
        js_DirectGetMsg(&message, connection.context(), stream.c_str(), &options, &wanted);
    is_there = status != NATS_NOT_FOUND;
    return is_there ? status : NATS_OK;
  }));
  return MessageHandle(is_there ? message : nullptr);
}

}  // namespace

Status PutDeadLetter(const Connection& connection, const std::string& subject,
                     const std::string& id, const DeadLetter& letter) {
  const std::string text = DeadLetterText(letter);
  return connection.Ask("Burying a message", [&](int64_t wait_ms, jsErrCode& said) {
    jsPubOptions options;
    jsPubOptions_Init(&options);
    options.MaxWait = wait_ms;
    options.MsgId = id.c_str();
    return js_Publish(nullptr, connection.context(), subject.c_str(), text.data(),
                      static_cast<int>(text.size()), &options, &said);
  });
}

Result<std::vector<DeadLetter>> ReadDeadLetters(const Connection& connection,
                                                const FleetNames& names,
                                                const std::string& subject) {
  std::vector<DeadLetter> letters;
  uint64_t next = 1;
  while (std::ssize(letters) < kMostDeadLetters) {
    ATTUNE_ASSIGN_OR_RETURN(const MessageHandle message,
                            NextLetter(connection, names.dead(), subject, next));
    if (message == nullptr) break;
    next = natsMsg_GetSequence(message.get()) + 1;
    const auto read = ParseDeadLetter(std::string_view(
        natsMsg_GetData(message.get()), static_cast<size_t>(natsMsg_GetDataLength(message.get()))));
    letters.push_back(read.ok() ? *read : DeadLetter{{}, 0, AsReason(read.error().message())});
  }
  return letters;
}

}  // namespace attune::nats
