#include "attune/tuner/reference_child.h"

#include <algorithm>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "attune/base/usable_cores.h"
#include "attune/problem/own_kernel.h"
#include "attune/verify/reference_cost.h"

namespace attune {

namespace {

// A user's reference is as slow as it likes, within reason.
constexpr int64_t kOwnReferenceNs = 1800LL * 1'000'000'000;

int64_t DeadlineNs(const Problem& problem, int64_t run_deadline_ns) {
  if (IsOwnKernel(problem)) return std::max(run_deadline_ns, kOwnReferenceNs);
  return std::max(run_deadline_ns,
                  static_cast<int64_t>(ProcessorReferenceNs(problem, UsableCores())));
}

}  // namespace

ReferenceMaker* ReferenceChild::For(const Problem& problem) {
  child_.reset();
  // Nobody else can.
  if (IsOwnKernel(problem)) return this;
  const bool is_asked = is_trusted_ && options_.pays_on_device && !Operands(problem).empty() &&
                        options_.pays_on_device(problem);
  return is_asked ? this : nullptr;
}

Status ReferenceChild::Make(const Problem& problem, int data_fd,
                            const std::function<bool()>& go_on) {
  // A user's own reference that fails says nothing of the device.
  const auto give_up = [&](const std::string& why) {
    if (!IsOwnKernel(problem)) GiveUp(why);
  };
  // Whoever dies before it listens, of what it was warmed up with, says nothing of references.
  auto taken = spares_.TakeListening(go_on);
  if (!taken.ok()) {
    give_up(taken.error().message());
    return taken.error();
  }
  ChildProcess child = std::move(*taken);
  if (child.was_given_up()) return DeadlineExceeded("Stopped, as asked, before a child listened.");
  child.SetRunDeadline(DeadlineNs(problem, options_.run_deadline_ns));
  const auto reply = child.AskForReference(Text(problem), data_fd);
  child.SetGoOn(options_.go_on);
  child.SetRunDeadline(options_.run_deadline_ns);
  if (child.was_given_up()) return DeadlineExceeded(reply.error().message);
  if (!reply) {
    give_up(reply.error().message);
    return Unavailable(reply.error().message);
  }
  if (const auto* failed = std::get_if<FailedReply>(&reply->content)) {
    give_up(failed->failure.message);
    return Unavailable(failed->failure.message);
  }
  const auto* refused = std::get_if<RefusedReply>(&reply->content);
  if (refused == nullptr && !std::holds_alternative<ReferencedReply>(reply->content)) {
    return Internal("The evaluator answered a question for a reference with another message.");
  }
  child_.emplace(std::move(child));
  return refused == nullptr ? Status::Ok() : Unsupported(refused->message);
}

void ReferenceChild::Distrust(const Status& reason) {
  child_.reset();
  GiveUp(reason.message());
}

void ReferenceChild::GiveUp(const std::string& reason) {
  is_trusted_ = false;
  notes_.push_back(
      fmt::format("Device '{}' is not asked for references any more, which the processor computes "
                  "instead, because it failed at one: {}",
                  options_.device, reason));
}

}  // namespace attune
