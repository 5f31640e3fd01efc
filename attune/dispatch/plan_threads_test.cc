// Many threads over one server while plans are swapped, evicted, pinned and looked at again. Meant
// for the thread sanitizer, and checks every result.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "attune/base/random.h"
#include "attune/dispatch/test_server.h"
#include "attune/ops/gemm/gemm.h"

namespace attune {
namespace {

constexpr int kThreads = 64;
constexpr int64_t kShapes = 200;
constexpr std::chrono::milliseconds kDuration{2000};

Problem Shape(uint64_t number) { return ProductOf(1 + static_cast<int64_t>(number), 2, 3); }

class PlanThreadsTest : public ::testing::Test {
 protected:
  PlanThreadsTest() {
    machine_.quick->workspace_bytes = 64;
    TestServerOptions options;
    options.server.max_plans = 64;  // Far below the number of shapes.
    options.server.calm = std::chrono::nanoseconds(0);
    options.tuned = [this](const Problem& problem) {
      machine_.choices->Add(problem, ChoiceOf({machine_.quick->At(2)}));
      return Status::Ok();
    };
    server_.emplace(machine_, options);
  }

  // Whether `plan` computes the product of `shape`: ones times twos.
  bool Computes(Plan& plan, const Gemm& shape) {
    std::vector<float> a(static_cast<size_t>(shape.m * shape.k), 1);
    std::vector<float> b(static_cast<size_t>(shape.k * shape.n), 2);
    std::vector<float> c(static_cast<size_t>(shape.m * shape.n), -1);
    const BufferView operands[] = {{a.data(), 0}, {b.data(), 0}, {c.data(), 0}};
    Arguments arguments;
    arguments.operands = operands;
    if (plan.workspace_bytes() > 0) {
      const auto workspace = (*server_)->Workspace(plan.workspace_bytes());
      if (!workspace.ok()) return false;
      arguments.workspace = *workspace;
      std::memset(workspace->handle, 1, plan.workspace_bytes());
    }
    if (!plan.Run(arguments).ok()) return false;
    return std::all_of(c.begin(), c.end(),
                       [&](float x) { return x == 2 * static_cast<float>(shape.k); });
  }

  void CallOnce(Random& random) {
    const Problem problem = Shape(random.Below(kShapes));
    Plan* plan = server_->Call(problem);
    if (!(plan->problem() == problem) || !Computes(*plan, problem.Get<Gemm>())) ++wrong_;
    ++calls_;
  }

  void PinOnce(Random& random) {
    const Problem problem = Shape(random.Below(kShapes));
    const auto slot = (*server_)->Pin(KeyOfTest(problem), problem, kNoWorkspaceLimit);
    for (int i = 0; i < 5; ++i) {
      if (!Computes(*slot->current(), problem.Get<Gemm>())) ++wrong_;
    }
    PlanServer::Unpin(*slot);
  }

  // A thread that ends and is replaced, so that tables come and go.
  void CallInAThreadOfItsOwn(uint64_t seed) {
    std::thread([&] {
      Random random(seed);
      for (int i = 0; i < 20; ++i) CallOnce(random);
    }).join();
  }

  void Work(uint64_t number) {
    Random random(number);
    while (!is_over_) {
      CallOnce(random);
      if (random.Below(50) == 0) PinOnce(random);
      if (random.Below(500) == 0) CallInAThreadOfItsOwn(random.Below(1000));
    }
  }

  // Changes what is known, over and over.
  void Stir() {
    Random random(99);
    while (!is_over_) {
      const Problem problem = Shape(random.Below(kShapes));
      const auto variant = static_cast<int64_t>(random.Below(3));
      TestSolver* solver = random.Below(2) == 0 ? machine_.slow : machine_.plain;
      machine_.choices->Add(problem, ChoiceOf({solver->At(variant)}));
      (*server_)->Refresh();
      (void)(*server_)->counters();
      (void)server_->WouldStall(problem);
      (*server_)->SetListener(
          [this](ServerEvent, const Problem&, const Candidate*, const std::string&) { ++events_; });
      std::this_thread::yield();
    }
  }

  TestMachine machine_;
  std::optional<TestServer> server_;
  std::atomic<bool> is_over_{false};
  std::atomic<int64_t> calls_{0};
  std::atomic<int64_t> wrong_{0};
  std::atomic<int64_t> events_{0};
};

TEST_F(PlanThreadsTest, SixtyFourThreadsAreServedRightWhilePlansAreSwappedAndEvicted) {
  std::vector<std::thread> threads;
  for (uint64_t i = 0; i < kThreads; ++i) threads.emplace_back([this, i] { Work(i); });
  threads.emplace_back([this] { Stir(); });

  const auto end = std::chrono::steady_clock::now() + kDuration;
  while (std::chrono::steady_clock::now() < end) std::this_thread::yield();
  is_over_ = true;
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(wrong_, 0);
  const ServerCounters counters = (*server_)->counters();
  EXPECT_GT(calls_, 0);
  EXPECT_GE(counters.hits + counters.misses, static_cast<uint64_t>(calls_.load()));
  EXPECT_GT(counters.evictions, 0U);
  EXPECT_GT(counters.swaps, 0U);
  EXPECT_GT(events_, 0);
}

TEST_F(PlanThreadsTest, ThreadsMayEndWhileTheServerIsDestroyed) {
  for (int round = 0; round < 50; ++round) {
    TestServer server(machine_, {});
    std::atomic<int> called{0};
    std::vector<std::thread> threads;
    for (uint64_t i = 0; i < 8; ++i) {
      threads.emplace_back([&, i] {
        server.Call(Shape(i));
        ++called;
      });
    }
    while (called < 8) std::this_thread::yield();
    // Their calls are over, their storage is not yet.
    std::thread closer([&threads] {
      for (std::thread& thread : threads) thread.join();
    });
    { const TestServer ends_now = std::move(server); }
    closer.join();
  }
}

}  // namespace
}  // namespace attune
