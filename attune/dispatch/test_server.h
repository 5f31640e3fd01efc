// A plan server over a TestMachine whose hooks are counted, for tests of this module.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "attune/dispatch/plan_server.h"
#include "attune/dispatch/test_solvers.h"

namespace attune {

inline PlanKey KeyOfTest(const Problem& problem) {
  const Fingerprint fingerprint = KeyOf(problem);
  PlanKey key;
  key.Append(fingerprint.high);
  key.Append(fingerprint.low);
  return key;
}

struct TestServerOptions {
  ServerOptions server;
  DispatchOptions dispatch;
  // How a tuning ends; without it every tuning finds {variant=2} of test.quick-gemm.
  std::function<Status(const Problem&)> tuned;
  std::function<bool(const Problem&, bool is_tuned)> missed;
  KernelCache* kernels = nullptr;  // Borrowed; null for the machine's own.
};

class TestServer {
 public:
  // Borrows `machine`.
  TestServer(TestMachine& machine, TestServerOptions options)
      : seen_(std::make_unique<Seen>()),
        server_(std::make_unique<PlanServer>(PartsOf(machine, options), options.dispatch,
                                             options.server, HooksOf(machine, options))) {}

  PlanServer* operator->() { return server_.get(); }

  // What a call without a limit does.
  Plan* Call(const Problem& problem) {
    const PlanKey key = KeyOfTest(problem);
    Plan* plan = server_->Find(key);
    return plan != nullptr ? plan : server_->FindOrMake(key, problem, kNoWorkspaceLimit);
  }
  // What a first call without a limit does on a queue in `state`.
  Plan* CallOn(QueueState state, const Problem& problem) {
    return server_->FindOrMake(KeyOfTest(problem), problem, kNoWorkspaceLimit, &state);
  }
  std::string SolverOfCall(const Problem& problem) {
    return Call(problem)->option().candidate.solver.name;
  }
  bool WaitIdle() { return server_->WaitIdle(std::chrono::seconds(60)); }
  std::optional<std::string> WouldStall(const Problem& problem) {
    return server_->WouldStall(problem, kNoWorkspaceLimit).value();
  }

  int tunings() const { return seen_->tunings.all(); }
  int tunings_in_this_thread() const { return seen_->tunings.in_this_thread(); }
  std::vector<std::string> recorded() const {
    const std::lock_guard<std::mutex> lock(seen_->mutex);
    return seen_->recorded;
  }

  // Keeps events as texts from now on.
  void Listen() {
    server_->SetListener([seen = seen_.get()](ServerEvent event, const Problem& problem,
                                              const Candidate* candidate,
                                              const std::string& message) {
      const std::lock_guard<std::mutex> lock(seen->mutex);
      seen->events.push_back(fmt::format("{} {} {}: {}", Name(event), Text(problem),
                                         candidate == nullptr ? "-" : Text(*candidate), message));
    });
  }
  std::vector<std::string> events() const {
    const std::lock_guard<std::mutex> lock(seen_->mutex);
    return seen_->events;
  }

 private:
  struct Seen {
    StepCount tunings;
    std::mutex mutex;  // Guards everything below.
    std::vector<std::string> recorded;
    std::vector<std::string> events;
  };

  static DispatchParts PartsOf(TestMachine& machine, const TestServerOptions& options) {
    DispatchParts parts = machine.Parts();
    if (options.kernels != nullptr) parts.kernels = options.kernels;
    return parts;
  }

  ServerHooks HooksOf(TestMachine& machine, const TestServerOptions& options) {
    ServerHooks hooks;
    hooks.choices = [choices = machine.choices] { return choices; };
    hooks.missed = options.missed;
    hooks.tune = [seen = seen_.get(), &machine, tuned = options.tuned](const Problem& problem) {
      seen->tunings.Add();
      if (tuned) return tuned(problem);
      machine.choices->Add(problem, ChoiceOf({machine.quick->At(2)}));
      return Status::Ok();
    };
    hooks.record = [seen = seen_.get()](const Problem& problem) {
      const std::lock_guard<std::mutex> lock(seen->mutex);
      const std::string text = Text(problem);
      const bool is_new = std::ranges::find(seen->recorded, text) == seen->recorded.end();
      if (is_new) seen->recorded.push_back(text);
      return is_new;
    };
    return hooks;
  }

  std::unique_ptr<Seen> seen_;
  std::unique_ptr<PlanServer> server_;
};

// A machine, servers on it and a problem.
class ServerTest : public ::testing::Test {
 protected:
  TestServer Server(MissPolicy policy, bool deterministic = false) {
    TestServerOptions options;
    options.server.policy = policy;
    options.server.deterministic = deterministic;
    return TestServer(machine_, options);
  }

  TestMachine machine_;
  const Problem problem_ = ProductOf(4, 4, 4);
};

}  // namespace attune
