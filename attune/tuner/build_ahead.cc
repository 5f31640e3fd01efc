#include "attune/tuner/build_ahead.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace attune {

void BuildAhead::Begin(const std::string& problem) {
  problem_ = problem;
  std::erase_if(workers_, [](const Worker& worker) { return !worker.child.alive(); });
  const std::lock_guard lock(mutex_);
  is_over_ = false;
}

void BuildAhead::Add(const Candidate& candidate, int64_t ready_by_ns) {
  bool has_idle_worker = false;
  {
    const std::lock_guard lock(mutex_);
    if (is_over_) return;
    waiting_.push_back({Text(candidate), ready_by_ns});
    has_idle_worker = employed_ - working_ >= waiting_.size();
  }
  changed_.notify_all();
  if (!has_idle_worker) EmployAnother();
}

// Starts one worker process at a time: on a machine with many cores the first ones may finish all
// builds before the last one would have started.
void BuildAhead::EmployAnother() {
  Worker* idle = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (employed_ == jobs_) return;
    for (Worker& worker : workers_) {
      if (!worker.is_employed && worker.child.alive()) idle = &worker;
    }
  }
  if (idle == nullptr) {
    auto child = spares_.Take();
    if (!child.ok()) return;  // Others compile, or the process that runs it does.
    idle = &workers_.emplace_back(std::move(*child));
  }
  {
    const std::lock_guard lock(mutex_);
    idle->is_employed = true;
    ++employed_;
  }
  threads_.emplace_back([this, idle] { Work(*idle); });
}

void BuildAhead::Work(Worker& worker) {
  std::unique_lock lock(mutex_);
  while (worker.child.alive()) {
    changed_.wait(lock, [this] { return is_over_ || !waiting_.empty(); });
    if (waiting_.empty()) break;
    const Task task = std::move(waiting_.front());
    waiting_.pop_front();
    ++working_;
    lock.unlock();
    worker.child.SetReadyBy(task.ready_by_ns);
    BuiltAhead built = Build(worker.child, task);
    lock.lock();
    --working_;
    if (worker.child.was_given_up()) {
      is_over_ = true;
      waiting_.clear();
    } else {
      built_.push_back(std::move(built));
    }
    changed_.notify_all();
  }
  worker.is_employed = false;
  --employed_;
  changed_.notify_all();
}

BuiltAhead BuildAhead::Build(ChildProcess& child, const Task& task) const {
  BuiltAhead built{*ParseCandidate(task.candidate), 0, std::nullopt};
  auto reply =
      child.Ask(CompileRequest{kChildProtocolVersion, device_, problem_, task.candidate, true});
  if (!reply) {
    built.failure = std::move(reply.error());
  } else if (const auto* compiled = std::get_if<CompiledReply>(&reply->content)) {
    built.build_ns = compiled->build_ns;
  } else if (auto* failed = std::get_if<FailedReply>(&reply->content)) {
    built.build_ns = failed->qualification.build_ns;
    built.failure = std::move(failed->failure);
  }
  // Any other answer: the process that runs the candidate gets the same one and reports it.
  return built;
}

std::optional<BuiltAhead> BuildAhead::Take(int64_t deadline_ns) {
  std::unique_lock lock(mutex_);
  const auto is_ready = [this] { return !built_.empty() || employed_ == 0 || is_over_; };
  const std::chrono::steady_clock::time_point deadline{std::chrono::nanoseconds(deadline_ns)};
  changed_.wait_until(lock, deadline, is_ready);
  if (!built_.empty()) {
    BuiltAhead built = std::move(built_.front());
    built_.pop_front();
    return built;
  }
  if (employed_ > 0 || waiting_.empty()) return std::nullopt;
  BuiltAhead unbuilt{*ParseCandidate(waiting_.front().candidate), 0, std::nullopt};
  waiting_.pop_front();
  return unbuilt;
}

size_t BuildAhead::left() {
  const std::lock_guard lock(mutex_);
  return built_.size() + waiting_.size() + (is_over_ ? 0 : working_);
}

void BuildAhead::End() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
    waiting_.clear();
  }
  changed_.notify_all();
  threads_.clear();  // Joins.
  built_.clear();
  for (Worker& worker : workers_) Append(busy_, worker.child.TakeBusyTime());
}

BusyTime BuildAhead::TakeBusyTime() { return std::exchange(busy_, {}); }

}  // namespace attune
