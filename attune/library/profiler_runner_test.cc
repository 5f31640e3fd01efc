#include "attune/library/profiler_runner.h"

#include <atomic>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/scratch_folder.h"
#include "attune/base/steady_time.h"

namespace attune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Key;
using testing::Lt;
using testing::Pair;
using testing::SizeIs;

constexpr int64_t kShortNs = 200'000'000;

ProfilerCommand Shell(const std::string& script) { return {{"sh", "-c", script}}; }
ProfilerCommand TellsTime(const std::string& name) {
  return Shell("echo OP:" + name + ",TIME:1.5,WS:8");
}

std::vector<ProfilerDevice> Devices(const std::vector<std::string>& names) {
  std::vector<ProfilerDevice> devices;
  for (const auto& name : names) devices.push_back(*VisibleDevice(name, {}));
  return devices;
}

// Fates of commands, in the order in which they ended.
struct Outcomes {
  std::vector<ProfilerOutcome> list;
  ProfilerRunner::Callback Add() {
    return [this](const ProfilerOutcome& outcome) { list.push_back(outcome); };
  }
};

TEST(VisibleDevice, AnOrdinalCountsAmongThoseThatThisProcessSees) {
  const ProcessVariables process = {{"CUDA_VISIBLE_DEVICES", "2, 5"}};

  const auto device = VisibleDevice("1", process);

  ASSERT_TRUE(device.ok());
  EXPECT_EQ(device->name, "1");
  EXPECT_THAT(device->variables,
              ElementsAre(Pair("CUDA_VISIBLE_DEVICES", "5"), Pair("HIP_VISIBLE_DEVICES", "1")));
  EXPECT_EQ(VisibleDevice("GPU-1a", process)->variables.at("CUDA_VISIBLE_DEVICES"), "GPU-1a");
  EXPECT_THAT(VisibleDevice("2", process).error().message(), HasSubstr("'2, 5'"));
  EXPECT_FALSE(VisibleDevice("99999999999999999999999", process).ok());
  EXPECT_FALSE(VisibleDevice("0", {{"CUDA_VISIBLE_DEVICES", ""}}).ok());
}

TEST(VisibleDevice, WhatNamesNoDeviceOrSeveralIsRefused) {
  for (const char* name : {"", "-1", "--deadline", "a b", "0;1", "0,1", "\xff"}) {
    const auto device = VisibleDevice(name, {});
    ASSERT_FALSE(device.ok()) << name;
    EXPECT_THAT(device.error().message(), HasSubstr("is no device: name an ordinal")) << name;
  }
  EXPECT_TRUE(VisibleDevice("MIG-GPU-1a/1/0", {}).ok());
}

TEST(VisibleDevice, OneDeviceHasNoTwoOrdinals) {
  for (const char* name : {"00", "01"}) {
    EXPECT_EQ(VisibleDevice(name, {}).status().code(), StatusCode::kInvalidArgument) << name;
  }
  EXPECT_TRUE(VisibleDevice("10", {}).ok());
}

TEST(ProfilerRunner, EachCommandIsRunOnADeviceThatItIsTold) {
  Outcomes outcomes;
  ProfilerRunner runner(Devices({"0", "1"}), {});
  for (int i = 0; i < 20; ++i) {
    runner.Push(Shell("echo OP:$CUDA_VISIBLE_DEVICES/$HIP_VISIBLE_DEVICES,TIME:2,WS:0"),
                outcomes.Add());
  }
  const auto joined = runner.Join();

  EXPECT_THAT(joined.thrown, IsEmpty());
  ASSERT_THAT(outcomes.list, SizeIs(20));
  for (const auto& outcome : outcomes.list) {
    EXPECT_EQ(outcome.fate, ProfilerFate::kDone) << outcome.message;
    ASSERT_THAT(outcome.ops, SizeIs(1));
    EXPECT_EQ(outcome.ops[0].name, outcome.device + "/" + outcome.device);
    EXPECT_EQ(outcome.attempts, 1);
    EXPECT_GT(outcome.wall_ns, 0);
  }
}

TEST(ProfilerRunner, NeverDoTwoCommandsRunOnOneDevice) {
  const auto folder = *ScratchFolder::Make("profiler");
  Outcomes outcomes;
  ProfilerRunner runner(Devices({"0", "1"}), {});
  // mkdir fails if another process has the folder.
  for (int i = 0; i < 40; ++i) {
    runner.Push(Shell("d=" + folder->path().string() +
                      "/$CUDA_VISIBLE_DEVICES; mkdir $d && echo TIME:1 && rmdir $d"),
                outcomes.Add());
  }
  (void)runner.Join();

  for (const auto& outcome : outcomes.list) {
    EXPECT_EQ(outcome.fate, ProfilerFate::kDone) << outcome.message;
  }
  EXPECT_THAT(outcomes.list, SizeIs(40));
}

TEST(ProfilerRunner, AHungCommandIsKilledWithItsChildrenAndItsDeviceGoesOn) {
  Outcomes outcomes;
  ProfilerTerms terms;
  terms.deadline_ns = kShortNs;
  ProfilerRunner runner(Devices({"0"}), terms);
  runner.Push(Shell("echo working >&2; tail -f /dev/null | cat"), outcomes.Add());
  runner.Push(TellsTime("after"), outcomes.Add());
  (void)runner.Join();

  ASSERT_THAT(outcomes.list, SizeIs(2));
  EXPECT_EQ(outcomes.list[0].fate, ProfilerFate::kTimedOut);
  EXPECT_EQ(outcomes.list[0].attempts, 1);
  EXPECT_EQ(outcomes.list[0].log, "working\n");
  EXPECT_THAT(outcomes.list[0].message, HasSubstr("0.2 s: working"));
  EXPECT_EQ(outcomes.list[1].fate, ProfilerFate::kDone);
}

TEST(ProfilerRunner, WhatDiesOrFailsIsTriedAgain) {
  const auto folder = *ScratchFolder::Make("profiler");
  const std::string mark = (folder->path() / "mark").string();
  Outcomes outcomes;
  ProfilerRunner runner(Devices({"0"}), {});
  runner.Push(Shell("[ -e " + mark + " ] && echo TIME:1 && exit 0; touch " + mark + "; kill -9 $$"),
              outcomes.Add());
  (void)runner.Join();
  runner.Push(Shell("echo no luck >&2; exit 7"), outcomes.Add());
  (void)runner.Join();
  runner.Push({{"attune-no-such-program"}}, outcomes.Add());
  (void)runner.Join();

  ASSERT_THAT(outcomes.list, SizeIs(3));
  EXPECT_EQ(outcomes.list[0].fate, ProfilerFate::kDone);
  EXPECT_EQ(outcomes.list[0].attempts, 2);
  EXPECT_EQ(outcomes.list[1].fate, ProfilerFate::kExitStatus);
  EXPECT_EQ(outcomes.list[1].number, 7);
  EXPECT_EQ(outcomes.list[1].attempts, 3);
  EXPECT_THAT(outcomes.list[1].message, HasSubstr("status 7: no luck"));
  EXPECT_EQ(outcomes.list[2].fate, ProfilerFate::kNotStarted);
  EXPECT_THAT(outcomes.list[2].message, HasSubstr("attune-no-such-program"));
}

TEST(ProfilerRunner, WordsOnStandardErrorAreNoFailure) {
  Outcomes outcomes;
  ProfilerRunner runner(Devices({"0"}), {});
  runner.Push(Shell("echo warning >&2; echo TIME:1"), outcomes.Add());
  (void)runner.Join();

  EXPECT_EQ(outcomes.list.at(0).fate, ProfilerFate::kDone);
  EXPECT_EQ(outcomes.list.at(0).log, "warning\n");
}

TEST(ProfilerRunner, WhoTellsNoTimeOrNonsenseHasNoResult) {
  Outcomes outcomes;
  ProfilerTerms terms;
  terms.max_output_bytes = 1000;
  ProfilerRunner runner(Devices({"0"}), terms);
  for (const char* script : {"true", "echo TIME:0", "echo TIME:1; head -c 2000 /dev/zero"}) {
    runner.Push(Shell(script), outcomes.Add());
  }
  (void)runner.Join();

  ASSERT_THAT(outcomes.list, SizeIs(3));
  for (const auto& outcome : outcomes.list) {
    EXPECT_EQ(outcome.fate, ProfilerFate::kNoResult) << outcome.out;
    EXPECT_EQ(outcome.attempts, 1);
    EXPECT_THAT(outcome.ops, IsEmpty());
  }
  EXPECT_THAT(outcomes.list[1].message, HasSubstr("Line 1: TIME is '0'"));
  EXPECT_THAT(outcomes.list[2].message, HasSubstr("1000 bytes"));
}

TEST(ProfilerRunner, CallbacksMayThrowAndPushAndOthersAreCalledAllTheSame) {
  Outcomes outcomes;
  int postprocessed = 0;
  size_t seen = 0;
  ProfilerHooks hooks;
  hooks.postprocess = [&] {
    ++postprocessed;
    seen = outcomes.list.size();
  };
  ProfilerRunner runner(Devices({"0", "1"}), {}, hooks);
  runner.Push(TellsTime("a"), [](const ProfilerOutcome&) { throw std::runtime_error("no room"); });
  runner.Push(TellsTime("b"),
              [&](const ProfilerOutcome&) { runner.Push(TellsTime("c"), outcomes.Add()); });
  runner.Push(TellsTime("d"), nullptr);
  const auto joined = runner.Join();

  EXPECT_THAT(joined.thrown, ElementsAre(HasSubstr("no room")));
  EXPECT_THAT(outcomes.list, SizeIs(1));
  EXPECT_EQ(postprocessed, 1);
  EXPECT_EQ(seen, 1U);
  EXPECT_THAT(runner.Join().thrown, IsEmpty());
}

TEST(ProfilerRunner, ADeviceThatKeepsFailingGetsNoMoreAndTheOthersDoTheRest) {
  Outcomes outcomes;
  ProfilerTerms terms;
  terms.attempts = 8;
  ProfilerRunner runner(Devices({"bad", "good"}), terms);
  for (int i = 0; i < 30; ++i) {
    runner.Push(Shell("[ $CUDA_VISIBLE_DEVICES = bad ] && kill -11 $$; echo TIME:1"),
                outcomes.Add());
  }
  const auto joined = runner.Join();

  EXPECT_THAT(joined.retired, ElementsAre(Key("bad")));
  EXPECT_THAT(joined.retired.begin()->second, HasSubstr("signal 11"));
  ASSERT_THAT(outcomes.list, SizeIs(30));
  for (const auto& outcome : outcomes.list) {
    EXPECT_EQ(outcome.fate, ProfilerFate::kDone) << outcome.message;
    EXPECT_EQ(outcome.device, "good");
  }
}

TEST(ProfilerRunner, TheLastDeviceTriesEverything) {
  Outcomes outcomes;
  ProfilerTerms terms;
  terms.attempts = 1;
  ProfilerRunner runner(Devices({"0"}), terms);
  for (int i = 0; i < 6; ++i) runner.Push(Shell("kill -11 $$"), outcomes.Add());
  runner.Push(TellsTime("a"), outcomes.Add());
  const auto joined = runner.Join();

  EXPECT_THAT(joined.retired, IsEmpty());
  ASSERT_THAT(outcomes.list, SizeIs(7));
  EXPECT_EQ(outcomes.list.back().fate, ProfilerFate::kDone);
}

TEST(ProfilerRunner, WhoIsStoppedKillsWhatRunsAndCallsEveryCallback) {
  Outcomes outcomes;
  std::atomic<bool> goes_on{true};
  ProfilerHooks hooks;
  hooks.go_on = [&] { return goes_on.load(); };
  ProfilerTerms terms;
  const int64_t begin_ns = SteadyNowNs();
  ProfilerRunner runner(Devices({"0"}), terms, hooks);
  runner.Push(TellsTime("a"), [&](const ProfilerOutcome&) { goes_on = false; });
  runner.Push(Shell("tail -f /dev/null"), outcomes.Add());
  runner.Push(TellsTime("b"), outcomes.Add());
  (void)runner.Join();

  ASSERT_THAT(outcomes.list, SizeIs(2));
  for (const auto& outcome : outcomes.list) {
    EXPECT_EQ(outcome.fate, ProfilerFate::kStopped);
    EXPECT_EQ(outcome.attempts, 0);
  }
  EXPECT_THAT(SteadyNowNs() - begin_ns, Lt(terms.deadline_ns));
}

TEST(ProfilerRunner, ItsEndKillsWhatRuns) {
  Outcomes outcomes;
  const int64_t begin_ns = SteadyNowNs();
  {
    ProfilerRunner runner(Devices({"0"}), {});
    runner.Push(Shell("tail -f /dev/null"), outcomes.Add());
    runner.Push(Shell("tail -f /dev/null"), outcomes.Add());
  }
  ASSERT_THAT(outcomes.list, SizeIs(2));
  EXPECT_THAT(SteadyNowNs() - begin_ns, Lt(ProfilerTerms().deadline_ns));
}

TEST(ProfilerRunner, ADeviceIsHeldForEachRunAndOneThatCannotBeHadIsSaid) {
  Outcomes outcomes;
  std::multiset<std::string> held;
  int most = 0;
  ProfilerHooks hooks;
  hooks.take = [&](const std::string& device) -> Result<std::shared_ptr<void>> {
    if (device == "1") return Unavailable("Somebody else has it.");
    held.insert(device);
    most = std::max(most, static_cast<int>(held.size()));
    return std::shared_ptr<void>(&held, [device](auto* all) { all->erase(device); });
  };
  {
    ProfilerRunner runner(Devices({"0"}), {}, hooks);
    for (int i = 0; i < 3; ++i) runner.Push(TellsTime("a"), outcomes.Add());
    (void)runner.Join();
  }
  ProfilerRunner other(Devices({"1"}), {}, hooks);
  other.Push(TellsTime("b"), outcomes.Add());
  (void)other.Join();

  EXPECT_EQ(most, 1);
  EXPECT_THAT(held, IsEmpty());
  ASSERT_THAT(outcomes.list, SizeIs(4));
  EXPECT_EQ(outcomes.list[2].fate, ProfilerFate::kDone);
  EXPECT_EQ(outcomes.list[3].fate, ProfilerFate::kRefused);
  EXPECT_EQ(outcomes.list[3].message, "Somebody else has it.");
}

}  // namespace
}  // namespace attune
