#include "attune/library/tool_library.h"

#include <cstdint>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/steady_time.h"
#include "attune/library/library_backend.h"
#include "attune/library/sample_tool_test.h"
#include "attune/ops/gemm/gemm.h"
#include "attune/problem/other_op.h"

namespace attune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

tl::expected<LibraryTime, Failure> RunOnce(const SampleTool& tool, int64_t block = 64) {
  const Problem problem = SampleTool::Vadd(1000);
  const Candidate candidate = SampleTool::WithBlock(block);
  return tool.library().Run({problem, candidate, Artifact(), ""});
}

TEST(ToolLibraryTest, ARunHasItsWordsItsVariablesAndItsResult) {
  const SampleTool tool("[ $SOLVER = one ] && echo OP:x,TIME:$1,WS:$2");

  const auto time = RunOnce(tool, 128);

  ASSERT_TRUE(time) << time.error().message;
  EXPECT_DOUBLE_EQ(time->time_ns, 128e6);
  EXPECT_EQ(time->workspace_bytes, 1000);
}

// True if the process is gone, or has ended and was not waited for.
bool HasEnded(int process) {
  const auto stat = ReadFile("/proc/" + std::to_string(process) + "/stat");
  const size_t name_end = stat.ok() ? stat->rfind(") ") : std::string::npos;
  return name_end == std::string::npos || (*stat)[name_end + 2] == 'Z';
}

// A signal is heard of a moment after it was sent.
bool EndsSoon(int process) {
  constexpr int64_t kPatienceNs = 10'000'000'000;
  const int64_t end_ns = SteadyNowNs() + kPatienceNs;
  while (!HasEnded(process) && SteadyNowNs() < end_ns) std::this_thread::yield();
  return HasEnded(process);
}

struct Fault {
  const char* script;
  FailureKind kind;
  const char* message;
};

TEST(ToolLibraryTest, EveryWayToFailHasItsClassAndItsReason) {
  const Fault faults[] = {
      {"echo TIME:1; echo lost it >&2; exit 3", FailureKind::kCrashed, "exit status 3: lost it"},
      {"echo TIME:1; kill -SEGV $$", FailureKind::kCrashed, "signal 11"},
      {"echo TIME:1; exec /bin/sleep 60", FailureKind::kTimedOut, "after 1.5 s"},
      {"echo TIME:0", FailureKind::kRunFailed, "TIME is '0'"},
      {"echo fine", FailureKind::kRunFailed, "no line with TIME:"},
      {"echo TIME:1; echo check FAILED", FailureKind::kWrongResult, "It printed 'FAILED'"},
      {"head -c 70000 /dev/zero", FailureKind::kRunFailed, "65536 bytes or more"},
  };
  for (const Fault& fault : faults) {
    const SampleTool tool(fault.script);
    const auto time = RunOnce(tool);
    ASSERT_FALSE(time) << fault.script;
    EXPECT_EQ(time.error().kind, fault.kind) << fault.script << ": " << time.error().message;
    EXPECT_THAT(time.error().message, HasSubstr(fault.message));
  }
}

TEST(ToolLibraryTest, WhatARunStartedEndsWithIt) {
  const SampleTool tool("/bin/sleep 600 & echo $! > pid; wait");

  ASSERT_FALSE(RunOnce(tool));

  const auto pid = ReadFile(tool.folder() / "pid");
  ASSERT_TRUE(pid.ok());
  EXPECT_TRUE(EndsSoon(std::stoi(*pid))) << "the child of the program still runs";
}

TEST(ToolLibraryTest, SolversApplyWhereTheProblemHasTheirFieldsAndTheRulesHold) {
  const SampleTool tool("");
  const Solver& solver = *tool.library().solvers().front();
  const auto space = solver.Space(SampleTool::Vadd(1000), tool.library().target());

  ASSERT_TRUE(space.ok()) << space.error().message();
  EXPECT_EQ(space->size(), 2U);  // 4096 exceeds n.
  EXPECT_TRUE(solver.IsApplicable(SampleTool::Vadd(1000), {}).ok());
  EXPECT_EQ(solver.IsApplicable(SampleTool::Vadd(10), {}).code(), StatusCode::kUnsupported);
  EXPECT_THAT(solver.IsApplicable(OtherOp{"vadd", {}}, {}).message(), HasSubstr("field 'n'"));
  EXPECT_THAT(solver.IsApplicable(Gemm{}, {}).message(), HasSubstr("no gemm"));
}

TEST(ToolLibraryTest, TheBuildIsAnotherOneWhereTheDescriptionOrAProgramIs) {
  const SampleTool one("true");
  const LibraryReport report = one.library().Report();
  EXPECT_TRUE(report.available);

  auto text = ReadFile(one.path());
  ASSERT_TRUE(text.ok());
  ASSERT_TRUE(WriteFileAtomically(one.path(), *text + "\n").ok());
  const auto again = ToolLibrary::Open(one.path());

  ASSERT_TRUE(again.ok());
  EXPECT_NE((*again)->Report().build_id, report.build_id);
}

TEST(ToolLibraryTest, ADeviceWhoseProgramIsMissingSaysWhich) {
  const SampleTool tool("true");
  auto text = ReadFile(tool.path());
  ASSERT_TRUE(text.ok());
  text->replace(text->find("/bin/sh"), 7, "/bin/no");
  ASSERT_TRUE(WriteFileAtomically(tool.path(), *text).ok());
  auto library = ToolLibrary::Open(tool.path());
  ASSERT_TRUE(library.ok());

  const LibraryBackend backend(std::move(*library));

  ASSERT_EQ(backend.Devices().size(), 1U);
  EXPECT_EQ(backend.Devices()[0].spec, "tool:sample");
  EXPECT_THAT(backend.Devices()[0].reason, HasSubstr("'/bin/no'"));
  EXPECT_EQ(backend.Open("tool:sample").status().code(), StatusCode::kUnsupported);
  EXPECT_EQ(backend.Open("tool:other").status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace attune
