#include "attune/tuner/build_ahead.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace attune {

void BuildAhead::Begin(const std::string& problem, const std::vector<Candidate>& candidates,
                       const QualifyTime& time) {
  problem_ = problem;
  time_ = time;
  given_up_ = false;
  candidates_.clear();
  for (const Candidate& candidate : candidates) candidates_.push_back(Text(candidate));
  next_ = taken_ = 0;
  built_.clear();
  std::erase_if(children_, [](const ChildProcess& child) { return !child.alive(); });
  working_ = 0;
  // One after the other, each at work before the next is started: on a machine with many cores the
  // first ones may have built everything before the last one would be there.
  const size_t wanted = std::min(jobs_, candidates_.size());
  for (size_t i = 0; i < wanted && HasMore(); ++i) {
    if (i == children_.size()) {
      auto child = spares_.Take();
      if (!child.ok()) break;  // Fewer compile, or whoever runs a candidate does.
      children_.push_back(std::move(*child));
    }
    {
      const std::lock_guard lock(mutex_);
      ++working_;
    }
    workers_.emplace_back([this, &child = children_[i]] { Work(child); });
  }
}

bool BuildAhead::HasMore() {
  const std::lock_guard lock(mutex_);
  return next_ < candidates_.size();
}

void BuildAhead::Work(ChildProcess& child) {
  for (;;) {
    size_t index = 0;
    {
      const std::lock_guard lock(mutex_);
      if (next_ >= candidates_.size() || !child.alive()) {
        --working_;
        changed_.notify_all();
        return;
      }
      index = next_++;
    }
    child.SetReadyBy(index == 0 ? time_.first_ready_by_ns : time_.ready_by_ns);
    BuiltAhead built = Build(child, index);
    if (child.was_given_up()) {
      GiveUp();
    } else {
      Finish(std::move(built));
    }
  }
}

BuiltAhead BuildAhead::Build(ChildProcess& child, size_t index) const {
  BuiltAhead built{index, 0, std::nullopt};
  auto reply =
      child.Ask(CompileRequest{kChildProtocolVersion, device_, problem_, candidates_[index]});
  if (!reply) {
    built.failure = std::move(reply.error());
  } else if (const auto* compiled = std::get_if<CompiledReply>(&reply->content)) {
    built.build_ns = compiled->build_ns;
  } else if (auto* failed = std::get_if<FailedReply>(&reply->content)) {
    built.build_ns = failed->qualification.build_ns;
    built.failure = std::move(failed->failure);
  }
  // Any other answer: whoever runs the candidate hears the same, and says it.
  return built;
}

void BuildAhead::GiveUp() {
  const std::lock_guard lock(mutex_);
  given_up_ = true;
  next_ = candidates_.size();
}

void BuildAhead::Finish(BuiltAhead built) {
  const std::lock_guard lock(mutex_);
  built_.push_back(std::move(built));
  changed_.notify_all();
}

std::optional<BuiltAhead> BuildAhead::Take(int64_t deadline_ns) {
  std::unique_lock lock(mutex_);
  if (taken_ == candidates_.size()) return std::nullopt;
  const auto is_over = [this] { return !built_.empty() || working_ == 0; };
  if (deadline_ns == 0) {
    changed_.wait(lock, is_over);
  } else {
    const std::chrono::steady_clock::time_point deadline{std::chrono::nanoseconds(deadline_ns)};
    if (!changed_.wait_until(lock, deadline, is_over)) return std::nullopt;
  }
  if (built_.empty() && given_up_) return std::nullopt;
  ++taken_;
  if (built_.empty()) return BuiltAhead{next_++, 0, std::nullopt};
  BuiltAhead built = std::move(built_.front());
  built_.pop_front();
  return built;
}

void BuildAhead::End() {
  {
    const std::lock_guard lock(mutex_);
    next_ = candidates_.size();
  }
  workers_.clear();  // Joins.
  for (ChildProcess& child : children_) Append(busy_, child.TakeBusyTime());
}

BusyTime BuildAhead::TakeBusyTime() { return std::exchange(busy_, {}); }

}  // namespace attune
