// Candidates that crash, hang or compute something wrong: they do so in workers of the tuner, and
// the calling program never meets them.
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/sql/sql_store.h"
#include "tests/runtime/runtime_world.h"

namespace attune {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::StartsWith;

// How trials of fake.tiled ended, by the records.
std::set<std::string> EndsOfTiled(const std::string& database) {
  std::set<std::string> ends;
  const auto store = OpenSqlStore(database);
  if (!store.ok()) return ends;
  const Status visited = (*store)->Visit({}, [&](const RecordedSet& recorded) {
    for (const Record& record : recorded.records) {
      if (record.trial.candidate.solver.name != "fake.tiled") continue;
      const Failure* failure = record.trial.failure();
      ends.insert(failure == nullptr ? "good" : std::string(Name(failure->kind)));
    }
    return Status::Ok();
  });
  EXPECT_EQ(visited, Status::Ok());
  return ends;
}

// Calls from the miss to the end of the tuning, and once more.
void CallUntilTuned(attune_runtime* runtime) {
  do {
    ASSERT_TRUE(Multiply(runtime, 16)) << attune_last_message();
  } while (attune_wait_idle(runtime, 1) == ATTUNE_DEADLINE_EXCEEDED);
  ASSERT_TRUE(Multiply(runtime, 16)) << attune_last_message();
  ASSERT_EQ(CountersOf(runtime).tunings, 1u);
}

TEST(BadCandidates, AGoodOneOfTheSameNameIsSwappedIn) {
  RuntimeWorld world;
  EventLog log;
  const RuntimeHandle runtime = MakeRuntime(ATTUNE_DEFERRED, kTimeForAllMs);
  ASSERT_NE(runtime, nullptr) << attune_last_message();
  log.Listen(runtime.get());

  CallUntilTuned(runtime.get());

  EXPECT_THAT(log.Candidate(ATTUNE_EVENT_SWAP), StartsWith("fake.tiled@"));
  EXPECT_THAT(EndsOfTiled(world.database()), Contains("good"));
}

// Uses a script that holds in this process as in the tuner's: running such a candidate here ends
// this test, or hangs it.
void ExpectItStaysAway(const std::string& fault, const std::string& end,
                       const std::string& device = "") {
  SCOPED_TRACE(fault);
  RuntimeWorld world("fake.tiled fault=" + fault + "\n" + device);
  EventLog log;
  const RuntimeHandle runtime = MakeRuntime(ATTUNE_DEFERRED, kTimeForAllMs);
  ASSERT_NE(runtime, nullptr) << attune_last_message();
  log.Listen(runtime.get());

  CallUntilTuned(runtime.get());

  EXPECT_THAT(EndsOfTiled(world.database()), ElementsAre(end));
  EXPECT_THAT(log.Candidate(ATTUNE_EVENT_MISS), StartsWith("fake.library@"));
  EXPECT_FALSE(log.Mentions("fake.tiled"));
}

TEST(BadCandidates, OnesThatCrashOrAreWrongNeverReachTheCaller) {
  ExpectItStaysAway("crash", "crashed");
  ExpectItStaysAway("wrong_result", "wrong_result");
}

// The tuner gives it up after 20 s.
TEST(BadCandidates, OneThatHangsHoldsNoCallUp) { ExpectItStaysAway("hang", "timed_out"); }

TEST(BadCandidates, OneThatLosesNanAgainstItsDeclarationStaysAway) {
  ExpectItStaysAway("skips_zeros", "wrong_result", "device ieee_special_values=1");
}

}  // namespace
}  // namespace attune
