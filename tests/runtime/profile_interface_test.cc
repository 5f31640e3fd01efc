// Profilers that a program runs through libattune.so, in C and in C++.
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/scratch_folder.h"
#include "attune/profile.hpp"

namespace attune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

class ProfileInterfaceTest : public testing::Test {
 protected:
  ProfileInterfaceTest() { ::setenv("ATTUNE_LOCK_FOLDER", scratch_->path().c_str(), 1); }

  static Profiler::Command Shell(std::string script) {
    return {{"/bin/sh", "-c", std::move(script)}, {}, ""};
  }
  std::string In(const std::string& name) const { return (scratch_->path() / name).string(); }

  const std::unique_ptr<ScratchFolder> scratch_ = *ScratchFolder::Make("attune-profile-interface");
};

TEST_F(ProfileInterfaceTest, CallbacksThrowAndPushAndTheJoinPostprocessesOnceBehindThem) {
  Profiler profiler({"0", "1"});
  std::vector<std::string> told;
  int postprocessed = 0;
  profiler.Push(Shell("echo OP:a,TIME:2,WS:8"), [&](const Profiler::Outcome& outcome) {
    told.push_back(outcome.ops.at(0).name);
    profiler.Push(Shell("echo OP:b,TIME:1,WS:16"),
                  [&](const Profiler::Outcome& pushed) { told.push_back(pushed.ops.at(0).name); });
    throw std::runtime_error("The table is full.");
  });

  const auto joined = profiler.Join([&] {
    ++postprocessed;
    EXPECT_THAT(told, ElementsAre("a", "b"));
    throw 7;
  });

  EXPECT_EQ(postprocessed, 1);
  EXPECT_THAT(joined.thrown,
              ElementsAre("The table is full.", "It threw what is no std::exception."));
  ASSERT_EQ(joined.exceptions.size(), 2U);
  EXPECT_THROW(std::rethrow_exception(joined.exceptions[0]), std::runtime_error);
  EXPECT_THROW(std::rethrow_exception(joined.exceptions[1]), int);
  // Reported work is not reported again, and more may be pushed.
  profiler.Push(Shell("echo TIME:1"));
  EXPECT_THAT(profiler.Join().thrown, IsEmpty());
}

TEST_F(ProfileInterfaceTest, OutcomesHaveTheReasonTheStatusAndWhatWasPrinted) {
  Profiler::Terms terms;
  terms.attempts = 2;
  terms.deadline_ns = 500'000'000;
  Profiler profiler({"0"}, terms);
  std::vector<Profiler::Outcome> outcomes;
  const auto keep = [&](const Profiler::Outcome& outcome) { outcomes.push_back(outcome); };
  profiler.Push(Shell("echo half; echo wrong >&2; exit 4"), keep);
  ASSERT_TRUE(profiler.Join().thrown.empty());
  profiler.Push(Shell("exec /bin/sleep 60"), keep);
  ASSERT_TRUE(profiler.Join().thrown.empty());
  profiler.Push(Shell("echo OP:x,TIME:0,WS:0"), keep);
  ASSERT_TRUE(profiler.Join().thrown.empty());
  profiler.Push(
      {{"/bin/sh", "-c", "echo OP:$MARK-$CUDA_VISIBLE_DEVICES,TIME:1,WS:0"}, {{"MARK", "m"}}, ""},
      keep);
  ASSERT_TRUE(profiler.Join().thrown.empty());

  ASSERT_EQ(outcomes.size(), 4U);
  EXPECT_EQ(outcomes[0].fate, ATTUNE_PROFILE_EXIT_STATUS);
  EXPECT_EQ(outcomes[0].number, 4);
  EXPECT_EQ(outcomes[0].attempts, 2);
  EXPECT_EQ(outcomes[0].out, "half\n");
  EXPECT_EQ(outcomes[0].log, "wrong\n");
  EXPECT_THAT(outcomes[0].message, HasSubstr("exit status 4: wrong"));
  EXPECT_EQ(outcomes[1].fate, ATTUNE_PROFILE_TIMED_OUT);
  EXPECT_EQ(outcomes[2].fate, ATTUNE_PROFILE_NO_RESULT);
  EXPECT_TRUE(outcomes[3].done());
  EXPECT_EQ(outcomes[3].ops.at(0).name, "m-0");
}

TEST_F(ProfileInterfaceTest, WhatAJournalSaysIsDoneIsNotRunAgain) {
  Profiler::Terms terms;
  terms.journal = In("results.jsonl");
  const auto script = "echo x >> " + In("runs") + "; echo OP:kept,TIME:3,WS:5";
  std::vector<Profiler::Outcome> outcomes;
  for (int round = 0; round < 2; ++round) {
    Profiler profiler({"0"}, terms);
    profiler.Push(Shell(script),
                  [&](const Profiler::Outcome& outcome) { outcomes.push_back(outcome); });
    profiler.Join();
  }

  ASSERT_EQ(outcomes.size(), 2U);
  EXPECT_FALSE(outcomes[0].is_resumed);
  EXPECT_TRUE(outcomes[1].is_resumed && outcomes[1].done());
  EXPECT_EQ(outcomes[1].ops.at(0).name, "kept");
  EXPECT_EQ(outcomes[1].ops.at(0).workspace_bytes, 5);
  EXPECT_EQ(std::filesystem::file_size(In("runs")), 2U) << "it ran twice";
}

TEST_F(ProfileInterfaceTest, ADeviceOnWhichCommandsDieIsRetiredAndTheOtherDoesTheRest) {
  Profiler::Terms terms;
  terms.attempts = 1;
  terms.faults_to_retire = 2;
  Profiler profiler({"0", "1"}, terms);
  int done = 0;
  int failed = 0;
  for (int i = 0; i < 12; ++i) {
    profiler.Push(Shell("[ $CUDA_VISIBLE_DEVICES = 1 ] && echo TIME:1 || kill -9 $$"),
                  [&](const Profiler::Outcome& outcome) { ++(outcome.done() ? done : failed); });
  }

  const auto joined = profiler.Join();

  EXPECT_EQ(done + failed, 12);
  EXPECT_LE(failed, 2);
  if (failed == 2) {
    EXPECT_THAT(joined.retired, ElementsAre(Pair("0", HasSubstr("2 commands in a row"))));
  }
}

TEST_F(ProfileInterfaceTest, StoppingKillsWhatRunsAndEveryCallbackIsCalledOnce) {
  std::vector<attune_profile_fate> fates;
  {
    Profiler profiler;
    profiler.Push(Shell("echo TIME:1"), [&](const Profiler::Outcome&) { profiler.Stop(); });
    for (int i = 0; i < 3; ++i) {
      profiler.Push(Shell("exec /bin/sleep 60"),
                    [&](const Profiler::Outcome& outcome) { fates.push_back(outcome.fate); });
    }
  }  // Not joined.

  EXPECT_THAT(fates,
              ElementsAre(ATTUNE_PROFILE_STOPPED, ATTUNE_PROFILE_STOPPED, ATTUNE_PROFILE_STOPPED));
}

TEST_F(ProfileInterfaceTest, WhatIsNoRunnerOrNoCommandIsAnErrorWithItsReason) {
  EXPECT_THROW(Profiler(std::vector<std::string>()), Error);
  EXPECT_THROW(Profiler({"0", "0"}), Error);
  Profiler::Terms terms;
  terms.attempts = 0;
  try {
    Profiler profiler({"0"}, terms);
    ADD_FAILURE() << "no attempts are accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ATTUNE_INVALID_ARGUMENT);
    EXPECT_THAT(error.what(), HasSubstr("0 attempts"));
  }
  Profiler profiler;
  EXPECT_THROW(profiler.Push(Profiler::Command()), Error);
  EXPECT_EQ(attune_profile_push(nullptr, nullptr, nullptr, nullptr), ATTUNE_INVALID_ARGUMENT);
  attune_profile_destroy(nullptr);
}

int ReturnSeven(void*, const attune_profile_outcome*) { return 7; }

TEST_F(ProfileInterfaceTest, InCACallbackFailsByANumberThatTheJoinTells) {
  attune_profile_runner* runner = nullptr;
  const char* device = "0";
  ASSERT_EQ(attune_profile_create(&device, 1, nullptr, &runner), ATTUNE_OK);
  const char* words[] = {"/bin/sh", "-c", "echo TIME:1"};
  attune_profile_command command = ATTUNE_PROFILE_COMMAND_INIT;
  command.words = words;
  command.word_count = 3;
  ASSERT_EQ(attune_profile_push(runner, &command, &ReturnSeven, nullptr), ATTUNE_OK);
  char* complaints = nullptr;
  ASSERT_EQ(attune_profile_join(runner, nullptr, nullptr, &complaints), ATTUNE_OK);

  EXPECT_STREQ(complaints, "The callback of '/bin/sh' returned 7.");
  attune_free(complaints);
  attune_profile_destroy(runner);
}

}  // namespace
}  // namespace attune
