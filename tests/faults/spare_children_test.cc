// Workers that wait before they are needed: they receive their work, are replaced when they die,
// are silent while others are timed, and never outlive the process that started them.

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "attune/base/steady_time.h"
#include "attune/ops/gemm/gemm.h"
#include "attune/tuner/spare_children.h"
#include "attune/verify/problem_data.h"
#include "backends/fake/fake_backend.h"

namespace attune {
namespace {

// The state letter and the parent of a process; '?' if there is none.
struct ProcessState {
  char letter = '?';
  pid_t parent = -1;
};
ProcessState StateOf(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/stat");
  std::string line;
  std::getline(file, line);
  const size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return {};
  ProcessState state;
  std::istringstream(line.substr(name_end + 1)) >> state.letter >> state.parent;
  return state;
}

// Children of this process, including those that have ended and are not reaped.
std::set<pid_t> ChildrenOfThis() {
  std::set<pid_t> children;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string pid = entry.path().filename().string();
    if (pid.find_first_not_of("0123456789") != std::string::npos) continue;
    if (StateOf(pid).parent == ::getpid()) children.insert(std::atoi(pid.c_str()));
  }
  return children;
}

// Patient, because the machine may be busy: true as soon as `holds` does. There is no signal for
// another process going to sleep, so it polls and lets waiting processes run in between.
template <class Condition>
bool Eventually(Condition holds) {
  const int64_t deadline_ns = SteadyNowNs() + 20'000'000'000;
  while (!holds()) {
    if (SteadyNowNs() > deadline_ns) return false;
    ::sched_yield();
  }
  return true;
}

bool AllSleep(const std::set<pid_t>& children) {
  for (const pid_t child : children) {
    if (StateOf(std::to_string(child)).letter != 'S') return false;
  }
  return true;
}

class SpareChildrenTest : public testing::Test {
 protected:
  SpareChildrenTest() {
    ::setenv(kFakeScriptVariable, "", 1);
    options_.program = ATTUNE_FAKE_EVALUATOR;
    options_.device = "fake";
    options_.jobs = 2;
    options_.memory_limit_bytes = int64_t{512} << 20;
  }

  static constexpr size_t kKept = 3;
  static void Fill(SpareChildren& spares) { spares.Supply(0, std::stop_token()); }

  Status Greet(ChildProcess& child) const {
    return child.Greet({Text(problem_), data_->fd(), {}, options_.memory_limit_bytes});
  }

  static std::vector<Candidate> Candidates() {
    return {*ParseCandidate("fake.tiled@1{threads=1,tile=8,unroll=1}"),
            *ParseCandidate("fake.tiled@1{threads=2,tile=16,unroll=4}"),
            *ParseCandidate("fake.tiled@1{threads=2,tile=8,unroll=2}")};
  }

  // An evaluator that has qualified candidates until it had spares: on a busy machine the first few
  // may be done before one is started.
  std::unique_ptr<Evaluator> UsedEvaluator() {
    auto evaluator = MakeChildEvaluator(options_);
    EXPECT_TRUE(evaluator->Begin(problem_, 1, {}, {}).ok());
    EXPECT_TRUE(Eventually([&] {
      EXPECT_EQ(CountPassed(*evaluator), 3u);
      return ChildrenOfThis().size() > 1;
    }));
    return evaluator;
  }

  static size_t CountPassed(Evaluator& evaluator) {
    const auto results = evaluator.Qualify(Candidates(), {}, nullptr);
    EXPECT_TRUE(results.ok()) << results.status().message();
    size_t passed = 0;
    for (const Qualified& result : *results) passed += result.trial.failure() == nullptr ? 1 : 0;
    return passed;
  }

  const Problem problem_ = Normalized(PackedGemm(16, 16, 16));
  ChildOptions options_;
  Result<ProblemData> data_ = ProblemData::Create(problem_, 1);
};

TEST_F(SpareChildrenTest, AreKeptTakenAndEndedWithoutATrace) {
  {
    SpareChildren spares(options_, kKept, 1);
    Fill(spares);
    EXPECT_EQ(ChildrenOfThis().size(), kKept);

    auto child = spares.Take();

    ASSERT_TRUE(child.ok());
    EXPECT_TRUE(Greet(*child).ok());
    EXPECT_EQ(ChildrenOfThis().size(), kKept);
  }
  EXPECT_TRUE(ChildrenOfThis().empty());
}

TEST_F(SpareChildrenTest, TakingFromNobodyStartsOne) {
  SpareChildren spares(options_, kKept, 1);

  auto child = spares.Take();

  ASSERT_TRUE(child.ok());
  EXPECT_TRUE(Greet(*child).ok());
}

TEST_F(SpareChildrenTest, SettledOnesSleep) {
  SpareChildren spares(options_, kKept, 1);
  Fill(spares);

  spares.Settle();

  const std::set<pid_t> children = ChildrenOfThis();
  EXPECT_EQ(children.size(), kKept);
  EXPECT_TRUE(Eventually([&] { return AllSleep(children); }));
}

TEST_F(SpareChildrenTest, OneThatDiedBeforeItsUseIsPassedOver) {
  SpareChildren spares(options_, kKept, 1);
  Fill(spares);
  for (const pid_t child : ChildrenOfThis()) ::kill(child, SIGKILL);
  ASSERT_TRUE(Eventually([] {
    for (const pid_t child : ChildrenOfThis()) {
      if (StateOf(std::to_string(child)).letter != 'Z') return false;
    }
    return true;
  }));

  auto child = spares.Take();

  ASSERT_TRUE(child.ok());
  EXPECT_TRUE(Greet(*child).ok());
  EXPECT_EQ(ChildrenOfThis().size(), 1u);
}

TEST_F(SpareChildrenTest, DeadOnesThatAreDroppedAreSuppliedAnew) {
  SpareChildren spares(options_, kKept, 1);
  Fill(spares);
  const pid_t victim = *ChildrenOfThis().begin();
  ::kill(victim, SIGKILL);
  ASSERT_TRUE(Eventually([&] { return StateOf(std::to_string(victim)).letter == 'Z'; }));

  spares.DropEnded();

  EXPECT_EQ(ChildrenOfThis().size(), kKept - 1);
  Fill(spares);
  EXPECT_EQ(ChildrenOfThis().size(), kKept);
}

TEST_F(SpareChildrenTest, DeadOnesAreReapedWhenTheOthersSettle) {
  SpareChildren spares(options_, kKept, 1);
  Fill(spares);
  const pid_t victim = *ChildrenOfThis().begin();
  ::kill(victim, SIGKILL);
  ASSERT_TRUE(Eventually([&] { return StateOf(std::to_string(victim)).letter == 'Z'; }));

  spares.Settle();

  EXPECT_EQ(ChildrenOfThis().size(), kKept - 1);
}

TEST_F(SpareChildrenTest, EvaluationGoesOnWhenAllSparesWereKilled) {
  const auto evaluator = UsedEvaluator();
  for (const pid_t child : ChildrenOfThis()) ::kill(child, SIGKILL);

  EXPECT_EQ(CountPassed(*evaluator), 3u);
  const auto timer = evaluator->StartTiming(Candidates());

  ASSERT_TRUE(timer.ok()) << timer.status().message();
  EXPECT_TRUE((*timer)->TimeBlock(0, {.launches = 1}).has_value());
}

TEST_F(SpareChildrenTest, NobodyStartsOrRunsBesideATimedBlock) {
  const auto evaluator = UsedEvaluator();
  const auto timer = evaluator->StartTiming(Candidates());
  ASSERT_TRUE(timer.ok()) << timer.status().message();
  const std::set<pid_t> before = ChildrenOfThis();

  for (size_t block = 0; block < 30; ++block) {
    ASSERT_TRUE((*timer)->TimeBlock(block % 3, {.launches = 1}).has_value());
  }

  EXPECT_EQ(ChildrenOfThis(), before);
  EXPECT_GT(before.size(), 1u);
  EXPECT_TRUE(Eventually([&] { return AllSleep(before); }));
}

TEST_F(SpareChildrenTest, NoneIsLeftOfAnEvaluator) {
  auto evaluator = UsedEvaluator();
  ASSERT_TRUE(evaluator->StartTiming(Candidates()).ok());
  ASSERT_FALSE(ChildrenOfThis().empty());

  evaluator.reset();

  EXPECT_TRUE(ChildrenOfThis().empty());
}

TEST_F(SpareChildrenTest, NoneOutlivesAParentThatIsKilled) {
  // The orphans come to this process, which can then wait for their end.
  ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t parent = ::fork();
  if (parent == 0) {
    const auto evaluator = UsedEvaluator();
    const auto timer = evaluator->StartTiming(Candidates());
    const int count = static_cast<int>(ChildrenOfThis().size());
    (void)!::write(ready[1], &count, sizeof count);
    for (;;) ::pause();
  }
  int count = 0;
  ASSERT_EQ(::read(ready[0], &count, sizeof count), static_cast<ssize_t>(sizeof count));
  ASSERT_GT(count, 1);

  ::kill(parent, SIGKILL);

  // More than were counted, if it was starting another one.
  int reaped = 0;
  EXPECT_TRUE(Eventually([&] {
    pid_t ended = 0;
    while ((ended = ::waitpid(-1, nullptr, WNOHANG)) > 0) ++reaped;
    return ended == -1;
  })) << reaped
      << " ended of at least " << count + 1;
  EXPECT_GT(reaped, count);
  ::prctl(PR_SET_CHILD_SUBREAPER, 0);
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_F(SpareChildrenTest, AnotherVersionOfTheProtocolIsRefusedByTheChild) {
  auto child = ChildProcess::Spawn(options_);
  ASSERT_TRUE(child.ok());
  HelloRequest hello;
  hello.version = kChildProtocolVersion - 1;

  const auto reply = child->Ask(hello);

  ASSERT_TRUE(reply.has_value()) << reply.error().message;
  const auto* refused = std::get_if<RefusedReply>(&reply->content);
  ASSERT_NE(refused, nullptr);
  EXPECT_NE(refused->message.find("Install both from one build"), std::string::npos);
}

TEST_F(SpareChildrenTest, WhoEndedBeforeItIsAskedIsDescribedInSentences) {
  options_.program = "/bin/true";
  auto child = ChildProcess::Spawn(options_);
  ASSERT_TRUE(child.ok());
  ASSERT_TRUE(Eventually([&] { return child->HasEnded(); }));

  const Status greeted = Greet(*child);

  EXPECT_NE(greeted.message().find("Broken pipe. Ended with exit status 0."), std::string::npos)
      << greeted.message();
}

TEST_F(SpareChildrenTest, AHelloWithoutDataIsRefused) {
  auto child = ChildProcess::Spawn(options_);
  ASSERT_TRUE(child.ok());

  const Status greeted = child->Greet({Text(problem_), -1, {}, options_.memory_limit_bytes});

  EXPECT_EQ(greeted.code(), StatusCode::kUnavailable);
  EXPECT_NE(greeted.message().find("No data"), std::string::npos) << greeted.message();
}

TEST_F(SpareChildrenTest, AnOldEvaluatorThatNeverListensSaysWhyItRefuses) {
  // As version 2 did: no `listening`, and the first hello is refused. 48 bytes follow the length.
  const auto program = std::filesystem::temp_directory_path() /
                       ("attune_old_evaluator_" + std::to_string(::getpid()) + ".sh");
  std::ofstream(program) << "#!/bin/sh\n"
                            "printf '\\060\\000\\000\\000"
                            "{\"type\":\"refused\",\"at_ns\":1,\"message\":\"too old\"}' >&3\n"
                            "read -r never <&3\n";
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  options_.program = program;
  const auto evaluator = MakeChildEvaluator(options_);
  ASSERT_TRUE(evaluator->Begin(problem_, 1, {}, {}).ok());

  const auto results = evaluator->Qualify(Candidates(), {}, nullptr);

  EXPECT_FALSE(results.ok());
  EXPECT_NE(results.status().message().find("too old"), std::string::npos)
      << results.status().message();
  std::filesystem::remove(program);
}

}  // namespace
}  // namespace attune
