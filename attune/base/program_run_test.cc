#include "attune/base/program_run.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/file.h"
#include "attune/base/scratch_folder.h"
#include "attune/base/steady_time.h"
#include "attune/base/unique_fd.h"

namespace attune {
namespace {

using testing::HasSubstr;
using testing::Lt;

constexpr int64_t kAmpleNs = 30'000'000'000;
constexpr int64_t kShortNs = 100'000'000;

ProgramCommand Shell(const std::string& script, int64_t deadline_ns = kAmpleNs) {
  return {{"/bin/sh", "-c", script}, "/", deadline_ns};
}

TEST(ProgramRunTest, OutputAndLogAndExitStatusAreToldApart) {
  const auto output = RunProgram(Shell("echo code; echo warning >&2; exit 3"));

  ASSERT_TRUE(output.ok()) << output.status().ToString();
  EXPECT_EQ(output->out, "code\n");
  EXPECT_EQ(output->log, "warning\n");
  EXPECT_EQ(output->exit_status, 3);
}

TEST(ProgramRunTest, ItRunsInTheFolderThatIsNamed) {
  ProgramCommand command = Shell("pwd");
  command.folder = "/usr";

  EXPECT_EQ(RunProgram(command)->out, "/usr\n");
}

TEST(ProgramRunTest, ItHasTheVariablesThatAreNamedBesideThoseOfThisProcess) {
  ProgramCommand command = Shell("echo $PATH $ATTUNE_TEST_DEVICE");
  command.variables = {{"PATH", "/of/the/test"}, {"ATTUNE_TEST_DEVICE", "7"}};

  EXPECT_EQ(RunProgram(command)->out, "/of/the/test 7\n");
}

TEST(ProgramRunTest, OneThatIsToGoOnNoLongerIsKilledWithWhatItSaid) {
  ProgramCommand command = Shell("echo begun; tail -f /dev/null");
  int asked = 0;
  command.go_on = [&asked] { return ++asked < 3; };

  const auto end = RunToEnd(command);

  ASSERT_TRUE(end.ok()) << end.status().ToString();
  EXPECT_EQ(end->how, ProgramEnd::How::kStopped);
  EXPECT_EQ(end->out, "begun\n");
}

TEST(ProgramRunTest, AFloodOfOutputIsCutAndDoesNotBlockIt) {
  const auto output = RunProgram(Shell("head -c 1000000 /dev/zero; head -c 1000000 /dev/zero >&2"));

  ASSERT_TRUE(output.ok()) << output.status().ToString();
  EXPECT_EQ(output->out.size(), kMaxOutputBytes);
  EXPECT_EQ(output->log.size(), kMaxOutputBytes);
}

TEST(ProgramRunTest, OneThatDoesNotEndIsKilledWithItsChildren) {
  const int64_t begin_ns = SteadyNowNs();

  const auto output = RunProgram(Shell("tail -f /dev/null | cat", kShortNs));

  EXPECT_EQ(output.status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(output.status().message(), HasSubstr("0.1 s"));
  EXPECT_THAT(SteadyNowNs() - begin_ns, Lt(kAmpleNs));
}

// Of a script that writes the number of a process into `file` and goes on.
bool Runs(const std::filesystem::path& file) {
  const pid_t process = std::stoi(ReadFile(file).value_or("0"));
  return process <= 0 || ::kill(process, 0) == 0;
}

// Whether a script has written its number into `file`, and has ended.
bool HasEnded(const std::filesystem::path& file) {
  const std::string text = ReadFile(file).value_or("");
  return text.ends_with("\n") && ::kill(std::stoi(text), 0) != 0;
}

TEST(ProgramRunTest, WhatMakesItselfASessionOfItsOwnEndsWithIt) {
  const auto folder = ScratchFolder::Make("attune-detached");
  ProgramCommand command = Shell(
      "setsid sh -c '(echo $$ >detached; exec tail -f /dev/null >/dev/null 2>&1) & "
      "exec tail -f /dev/null' >/dev/null 2>&1 & until test -s detached; do :; done; echo done");
  command.folder = (*folder)->path();

  const auto output = RunProgram(command);

  ASSERT_TRUE(output.ok()) << output.status().ToString();
  EXPECT_EQ(output->out, "done\n");
  EXPECT_FALSE(Runs(command.folder / "detached"));
}

TEST(ProgramRunTest, WhatIsOrphanedInASessionOfItsOwnIsKilledAtTheDeadline) {
  const auto folder = ScratchFolder::Make("attune-detached");
  ProgramCommand command =
      Shell("(setsid sh -c 'echo $$ >detached; exec tail -f /dev/null' &) ; exec tail -f /dev/null",
            kShortNs * 10);
  command.folder = (*folder)->path();

  EXPECT_EQ(RunProgram(command).status().code(), StatusCode::kDeadlineExceeded);

  EXPECT_FALSE(Runs(command.folder / "detached"));
}

// A copy of this process with all that it has open, which ends itself in time.
pid_t ForkIdler() {
  const pid_t idler = ::fork();
  if (idler != 0) return idler;
  ::alarm(2 * kAmpleNs / 1'000'000'000);
  for (;;) ::pause();
}

void KillAndAwait(pid_t process) {
  ::kill(process, SIGKILL);
  EXPECT_EQ(::waitpid(process, nullptr, 0), process);
}

TEST(ProgramRunTest, WhatThisProcessHasForkedMeanwhileDoesNotKeepItAlive) {
  ProgramCommand command = Shell("exec tail -f /dev/null");
  pid_t idler = -1;
  command.go_on = [&idler] {
    idler = ForkIdler();
    return false;
  };
  const int64_t begin_ns = SteadyNowNs();

  const auto end = RunToEnd(command);

  ASSERT_TRUE(end.ok()) << end.status().ToString();
  EXPECT_EQ(end->how, ProgramEnd::How::kStopped);
  EXPECT_THAT(SteadyNowNs() - begin_ns, Lt(kAmpleNs));
  KillAndAwait(idler);
}

TEST(ProgramRunTest, ItEndsWithItsProcessWhateverThatHasForked) {
  const auto folder = ScratchFolder::Make("attune-detached");
  const std::filesystem::path idle = (*folder)->path() / "idle";
  const std::filesystem::path alive = (*folder)->path() / "alive";
  ASSERT_EQ(::mkfifo(alive.c_str(), 0600), 0);
  const pid_t runner = ::fork();
  if (runner == 0) {
    ProgramCommand command =
        Shell("until test -e idle; do :; done; exec 3>alive; exec tail -f /dev/null");
    command.folder = (*folder)->path();
    bool has_forked = false;
    command.go_on = [&] {
      if (!has_forked) (void)WriteFileAtomically(idle, std::to_string(ForkIdler()));
      return has_forked = true;
    };
    (void)RunToEnd(command);
    ::_exit(1);
  }
  // Until the program has it open, too.
  const UniqueFd lifeline(::open(alive.c_str(), O_RDONLY | O_CLOEXEC));
  const int64_t begin_ns = SteadyNowNs();

  KillAndAwait(runner);

  char byte = 0;
  EXPECT_EQ(::read(lifeline.get(), &byte, 1), 0);
  EXPECT_THAT(SteadyNowNs() - begin_ns, Lt(kAmpleNs));
  const pid_t idler = std::stoi(ReadFile(idle).value_or("0"));
  ASSERT_GT(idler, 0);
  ::kill(idler, SIGKILL);
}

TEST(ProgramRunTest, OneThatStopsWhoeverIsToEndItIsKilledAtTheDeadline) {
  const auto end = RunToEnd(Shell("kill -STOP $PPID; exec tail -f /dev/null", kShortNs));

  ASSERT_TRUE(end.ok()) << end.status().ToString();
  EXPECT_EQ(end->how, ProgramEnd::How::kLate);
}

void SpinFor(int64_t time_ns) {
  const int64_t end_ns = SteadyNowNs() + time_ns;
  while (SteadyNowNs() < end_ns) {
  }
}

TEST(ProgramRunTest, OneThatIsSilentIsKilledAtItsDeadlineHoweverLongGoOnTakes) {
  ProgramCommand command = Shell("exec tail -f /dev/null", kShortNs);
  command.go_on = [] {
    SpinFor(2 * kShortNs);
    return true;
  };

  const auto end = RunToEnd(command);

  ASSERT_TRUE(end.ok()) << end.status().ToString();
  EXPECT_EQ(end->how, ProgramEnd::How::kLate);
}

TEST(ProgramRunTest, OneThatEndedInTimeIsNotLateBecauseOfWhatHoldsItsOutput) {
  const auto folder = ScratchFolder::Make("attune-detached");
  ProgramCommand command = Shell("tail -f /dev/null & echo $$ >it; exit 3", kShortNs);
  command.folder = (*folder)->path();
  const int64_t end_ns = SteadyNowNs() + kAmpleNs;
  // Looks again when it has ended, and its deadline is over.
  command.go_on = [&] {
    while (!HasEnded(command.folder / "it") && SteadyNowNs() < end_ns) {
    }
    SpinFor(2 * kShortNs);
    return true;
  };

  const auto end = RunToEnd(command);

  ASSERT_TRUE(end.ok()) << end.status().ToString();
  EXPECT_EQ(end->how, ProgramEnd::How::kExited);
  EXPECT_EQ(end->number, 3);
}

TEST(ProgramRunTest, OneThatKillsItsWholeGroupIsNamedWithItsSignal) {
  const auto end = RunToEnd(Shell("setsid true; kill -9 0"));

  ASSERT_TRUE(end.ok()) << end.status().ToString();
  EXPECT_EQ(end->how, ProgramEnd::How::kSignalled);
  EXPECT_EQ(end->number, SIGKILL);
}

TEST(ProgramRunTest, WhatItLeavesRunningWithItsOutputIsNotWaitedFor) {
  const int64_t begin_ns = SteadyNowNs();

  const auto output = RunProgram(Shell("tail -f /dev/null & echo done; exit 3"));

  ASSERT_TRUE(output.ok()) << output.status().ToString();
  EXPECT_EQ(output->exit_status, 3);
  EXPECT_EQ(output->out, "done\n");
  EXPECT_THAT(SteadyNowNs() - begin_ns, Lt(kAmpleNs / 3));
}

TEST(ProgramRunTest, OneThatClosesItsOutputAndGoesOnIsKilledToo) {
  const auto output = RunProgram(Shell("exec tail -f /dev/null >/dev/null 2>/dev/null", kShortNs));

  EXPECT_EQ(output.status().code(), StatusCode::kDeadlineExceeded);
}

TEST(ProgramRunTest, ACrashIsNamedWithWhatWasSaidBefore) {
  const auto output = RunProgram(Shell("echo assertion >&2; kill -SEGV $$"));

  EXPECT_EQ(output.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(output.status().message(), HasSubstr("killed by signal 11"));
  EXPECT_THAT(output.status().message(), HasSubstr("assertion"));
}

TEST(ProgramRunTest, AProgramThatIsNotThereIsNamed) {
  const auto output = RunProgram({{"/no/such/compiler"}, "/", kAmpleNs});

  EXPECT_EQ(output.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(output.status().message(), HasSubstr("/no/such/compiler"));
}

TEST(ProgramRunTest, TheLastLineIsTheLastThatSaysSomething) {
  EXPECT_EQ(LastLineOf("one\ntwo\n \n\r\n"), "two");
  EXPECT_EQ(LastLineOf("alone"), "alone");
  EXPECT_EQ(LastLineOf(" \n\t\n"), "");
  EXPECT_EQ(LastLineOf(""), "");
}

}  // namespace
}  // namespace attune
