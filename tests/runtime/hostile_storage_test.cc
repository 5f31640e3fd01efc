// Databases, indexes and folders that are broken, busy, full or not there: calls are served, and
// nothing is lost.
#include <grp.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/index/index_writer.h"
#include "storage/sql/connection.h"
#include "storage/sql/sql_store.h"
#include "tests/conformance/store/sample_records.h"
#include "tests/runtime/forked_child.h"
#include "tests/runtime/runtime_world.h"

namespace attune {
namespace {

using testing::HasSubstr;

std::string Explanation(attune_runtime* runtime) {
  char* json = nullptr;
  if (attune_explain(runtime, "gemm@1{m=16,n=16,k=16,align=4}", &json) != ATTUNE_OK) {
    return attune_last_message();
  }
  const std::string text = json;
  attune_free(json);
  return text;
}

std::string Bytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void Overwrite(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

// Measures 16 x 16 x 16 into the database of `world`.
void TuneOnce(RuntimeWorld&) {
  const RuntimeHandle runtime = MakeRuntime(ATTUNE_INLINE);
  ASSERT_NE(runtime, nullptr) << attune_last_message();
  ASSERT_TRUE(Multiply(runtime.get(), 16)) << attune_last_message();
  ASSERT_EQ(CountersOf(runtime.get()).tunings, 1u);
}

// Shapes that a record serves: at once, or as soon as its kernel is loaded. Counts the reasons of
// the misses, not the candidates: another recorded one may serve meanwhile.
uint64_t ServedByRecord(attune_runtime* runtime) {
  const attune_counters counters = CountersOf(runtime);
  return counters.by_reason[ATTUNE_MISS_FIRST_CALL] + counters.by_reason[ATTUNE_MISS_NOT_READY];
}

// A file system of its own; detached at the end.
class Mount {
 public:
  Mount(std::filesystem::path at, const std::string& options) : at_(std::move(at)) {
    std::filesystem::create_directories(at_);
    is_there_ = ::mount("tmpfs", at_.c_str(), "tmpfs", 0, options.c_str()) == 0;
  }
  Mount(const Mount&) = delete;
  Mount& operator=(const Mount&) = delete;
  ~Mount() {
    if (is_there_) ::umount2(at_.c_str(), MNT_DETACH);
  }
  bool is_there() const { return is_there_; }
  bool MakeReadOnly() const {
    return ::mount("tmpfs", at_.c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, nullptr) == 0;
  }

 private:
  const std::filesystem::path at_;
  bool is_there_ = false;
};

TEST(HostileStorage, ADatabaseThatIsNoneIsToldAndTheDefaultServes) {
  RuntimeWorld world;
  const std::string garbage(10'000, 'x');
  Overwrite(world.database(), garbage);
  EventLog log;
  const RuntimeHandle runtime = MakeRuntime(ATTUNE_DEFERRED);
  ASSERT_NE(runtime, nullptr) << attune_last_message();
  log.Listen(runtime.get());

  ASSERT_TRUE(Multiply(runtime.get(), 16));
  ASSERT_TRUE(IsIdle(runtime.get()));

  EXPECT_EQ(CountersOf(runtime.get()).tuning_failures, 1u);
  EXPECT_THAT(log.Message(ATTUNE_EVENT_TUNING_FAILED), HasSubstr("is not a database"));
  EXPECT_THAT(Explanation(runtime.get()), HasSubstr("is not a database"));
  EXPECT_EQ(Bytes(world.database()), garbage);
}

TEST(HostileStorage, ADatabaseWithAnIndexServesFromItWhenItIsDamaged) {
  RuntimeWorld world;
  TuneOnce(world);
  for (const char* suffix : {"-wal", "-shm"}) std::filesystem::remove(world.database() + suffix);
  Overwrite(world.database(), "damaged");
  const RuntimeHandle runtime = MakeRuntime(ATTUNE_DEFERRED);
  ASSERT_NE(runtime, nullptr) << attune_last_message();

  ASSERT_TRUE(Multiply(runtime.get(), 16));
  ASSERT_TRUE(IsIdle(runtime.get()));

  EXPECT_EQ(ServedByRecord(runtime.get()), 1u);
}

TEST(HostileStorage, ADamagedIndexIsMadeAnewWhereverItIsDamaged) {
  RuntimeWorld world;
  TuneOnce(world);
  const std::string index = IndexPathOf(world.database()).string();
  const std::string sound = Bytes(index);
  ASSERT_GT(sound.size(), 200u);
  for (size_t at = 0; at < sound.size(); at += sound.size() / 16) {
    std::string damaged = sound;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
    Overwrite(index, damaged);
    // With as much time for a problem as before: more of it would measure it again.
    const RuntimeHandle runtime = MakeRuntime(ATTUNE_DEFERRED);
    ASSERT_NE(runtime, nullptr) << attune_last_message();

    ASSERT_TRUE(Multiply(runtime.get(), 16)) << "byte " << at;
    // After any earlier read, the next look serves the measured choice.
    while (Explanation(runtime.get()).find("\"is_tuned\": true") == std::string::npos) {
      ASSERT_TRUE(IsIdle(runtime.get()));
      std::this_thread::yield();
    }
  }
  EXPECT_EQ(FinishedSetsIn(world.database()), 1);
}

int CountIn(const std::string& text, const std::string& part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(HostileStorage, ADamagedIndexIsToldOnceAndCostsNoCall) {
  RuntimeWorld world;
  const Mount disk(world.folder() / "disk", "size=16m");
  if (!disk.is_there()) GTEST_SKIP() << "A file system can be mounted by the superuser only.";
  const std::string database = (world.folder() / "disk/attune.db").string();
  world.Set("ATTUNE_DB", database);
  TuneOnce(world);
  const std::string index = IndexPathOf(database).string();
  std::string damaged = Bytes(index);
  ASSERT_GT(damaged.size(), 64u);
  for (size_t i = 0; i < 64; ++i) damaged[i] = 'x';
  Overwrite(index, damaged);
  // Nothing mends it, so that every look finds the damage again.
  ASSERT_TRUE(disk.MakeReadOnly());
  testing::internal::CaptureStderr();
  const RuntimeHandle runtime = MakeRuntime(ATTUNE_DEFERRED);
  ASSERT_NE(runtime, nullptr) << attune_last_message();

  for (int round = 0; round < 3; ++round) {
    for (const int size : {16, 17 + round}) ASSERT_TRUE(Multiply(runtime.get(), size));
    ASSERT_TRUE(IsIdle(runtime.get()));
  }

  EXPECT_EQ(CountIn(Explanation(runtime.get()), "The index is not used"), 1)
      << Explanation(runtime.get());
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(HostileStorage, ADatabaseThatIsReplacedIsFollowed) {
  RuntimeWorld world;
  TuneOnce(world);
  const std::string old_index = Bytes(IndexPathOf(world.database()));
  for (const char* suffix : {"", "-wal", "-shm", ".index"}) {
    std::filesystem::remove(world.database() + suffix);
  }
  TuneOnce(world);
  // The index is of the database that is gone, and says more than the new one.
  Overwrite(IndexPathOf(world.database()), old_index);
  const RuntimeHandle runtime = MakeRuntime(ATTUNE_DEFERRED);
  ASSERT_NE(runtime, nullptr) << attune_last_message();
  ASSERT_TRUE(IsIdle(runtime.get()));

  ASSERT_TRUE(Multiply(runtime.get(), 17));
  ASSERT_TRUE(IsIdle(runtime.get()));
  ASSERT_TRUE(Multiply(runtime.get(), 17));

  EXPECT_EQ(CountersOf(runtime.get()).tunings, 1u);
  // By what its neighbour's record says, if that has to be loaded first, and by its own.
  EXPECT_GE(CountersOf(runtime.get()).swaps, 1u);
  EXPECT_LE(CountersOf(runtime.get()).swaps, 2u);
}

TEST(HostileStorage, AFolderThatCannotBeMadeIsToldAndTheDefaultServes) {
  RuntimeWorld world;
  Overwrite(world.folder() / "file", "in the way");
  world.Set("ATTUNE_DB", (world.folder() / "file/attune.db").string());
  for (const attune_policy policy : {ATTUNE_DEFERRED, ATTUNE_RECORD, ATTUNE_INLINE}) {
    const RuntimeHandle runtime = MakeRuntime(policy);
    ASSERT_NE(runtime, nullptr) << attune_last_message();

    ASSERT_TRUE(Multiply(runtime.get(), 16));
    ASSERT_TRUE(IsIdle(runtime.get()));

    EXPECT_EQ(CountersOf(runtime.get()).by_provenance[ATTUNE_FROM_DEFAULT], 1u);
    EXPECT_EQ(CountersOf(runtime.get()).tunings, 0u);
    EXPECT_THAT(Explanation(runtime.get()), HasSubstr("Not a directory"));
  }
}

// The user `nobody`; the superuser can switch to it for good.
constexpr uid_t kNobody = 65534;
constexpr int kCannotBecomeNobody = 77;

bool GiveUpRoot() {
  return ::geteuid() != 0 ||
         (::setgroups(0, nullptr) == 0 && ::setresgid(kNobody, kNobody, kNobody) == 0 &&
          ::setresuid(kNobody, kNobody, kNobody) == 0);
}

// In a child without root's rights, which writes the explanation after its call into `told`.
int ServeAsNobody(const std::filesystem::path& told) {
  if (!GiveUpRoot()) return kCannotBecomeNobody;
  const RuntimeHandle runtime = MakeRuntime(ATTUNE_DEFERRED);
  if (runtime == nullptr) return 1;
  if (!Multiply(runtime.get(), 16) || !IsIdle(runtime.get())) return 2;
  if (CountersOf(runtime.get()).by_provenance[ATTUNE_FROM_DEFAULT] != 1) return 3;
  if (CountersOf(runtime.get()).tuning_failures != 1) return 4;
  Overwrite(told, Explanation(runtime.get()));
  return 0;
}

TEST(HostileStorage, AnUnreadableFolderIsToldAndTheDefaultServes) {
  RuntimeWorld world;
  const std::filesystem::path closed = world.folder() / "closed";
  const std::filesystem::path told = world.folder() / "told";
  // All users may read everything else that is needed.
  world.CopyPlugin();
  ASSERT_EQ(::chmod(world.folder().c_str(), 0777), 0);
  std::filesystem::create_directory(closed);
  ASSERT_EQ(::chmod(closed.c_str(), 0), 0);
  world.Set("ATTUNE_DB", (closed / "attune.db").string());

  const int child = InChild([&] { return ServeAsNobody(told); });

  ::chmod(closed.c_str(), 0700);
  if (child == kCannotBecomeNobody) GTEST_SKIP() << "There is no user but the superuser here.";
  ASSERT_EQ(child, 0);
  EXPECT_THAT(Bytes(told), HasSubstr("No database is used: Cannot look for '" +
                                     (closed / "attune.db").string() + "': Permission denied."));
}

TEST(HostileStorage, WithoutAHomeTheDefaultServesAndTheReasonIsTold) {
  RuntimeWorld world;
  for (const char* name : {"HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "ATTUNE_DB"}) {
    world.Set(name, std::nullopt);
  }
  const RuntimeHandle runtime = MakeRuntime(ATTUNE_DEFERRED);
  ASSERT_NE(runtime, nullptr) << attune_last_message();

  EXPECT_TRUE(Multiply(runtime.get(), 16));
  EXPECT_TRUE(IsIdle(runtime.get()));

  EXPECT_EQ(CountersOf(runtime.get()).tunings, 0u);
  EXPECT_THAT(Explanation(runtime.get()), HasSubstr("Nothing is tuned or recorded"));
}

TEST(HostileStorage, WhileAnotherWriterHoldsTheDatabaseCallsAreServedAndNothingIsLost) {
  RuntimeWorld world;
  ASSERT_TRUE(OpenSqlStore(world.database()).ok());
  auto writer = sql::Connection::Open(world.database(), {});
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE((*writer)->BeginWrite().ok());
  const RuntimeHandle recording = MakeRuntime(ATTUNE_RECORD);
  const RuntimeHandle tuning = MakeRuntime(ATTUNE_DEFERRED);
  ASSERT_TRUE(recording != nullptr && tuning != nullptr) << attune_last_message();

  ASSERT_TRUE(Multiply(recording.get(), 16));
  ASSERT_TRUE(Multiply(tuning.get(), 17));
  // The recorder gives up its first try after five seconds, the tuner does not.
  ASSERT_TRUE(IsIdle(recording.get()));
  EXPECT_EQ(ProblemsUnder(world.database(), "recorded"), 0u);
  EXPECT_THAT(Explanation(recording.get()), HasSubstr("wait to be recorded"));
  EXPECT_EQ(CountersOf(tuning.get()).tunings, 0u);
  (*writer)->Rollback();

  ASSERT_TRUE(IsIdle(tuning.get()));
  EXPECT_EQ(CountersOf(tuning.get()).tunings, 1u);
  EXPECT_EQ(FinishedSetsIn(world.database()), 1);
  while (ProblemsUnder(world.database(), "recorded") == 0) std::this_thread::yield();
  EXPECT_EQ(ProblemsUnder(world.database(), "recorded"), 1u);
}

TEST(HostileStorage, WhatWaitsToBeRecordedIsWrittenWhenTheRunTimeEnds) {
  RuntimeWorld world;
  ASSERT_TRUE(OpenSqlStore(world.database()).ok());
  auto writer = sql::Connection::Open(world.database(), {});
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE((*writer)->BeginWrite().ok());
  RuntimeHandle runtime = MakeRuntime(ATTUNE_RECORD);
  ASSERT_NE(runtime, nullptr) << attune_last_message();
  ASSERT_TRUE(Multiply(runtime.get(), 16));
  ASSERT_TRUE(IsIdle(runtime.get()));

  (*writer)->Rollback();
  runtime = nullptr;

  EXPECT_EQ(ProblemsUnder(world.database(), "recorded"), 1u);
}

TEST(HostileStorage, AFullDiskCostsTheRecordsAndNothingElse) {
  RuntimeWorld world;
  const Mount disk(world.folder() / "disk", "size=1m");
  if (!disk.is_there()) GTEST_SKIP() << "A file system can be mounted by the superuser only.";
  const std::string database = (world.folder() / "disk/attune.db").string();
  ASSERT_TRUE(OpenSqlStore(database).ok());
  world.Set("ATTUNE_DB", database);
  {
    std::ofstream filler(world.folder() / "disk/filler", std::ios::binary);
    const std::string block(4096, 'x');
    while (filler.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) {
    }
  }
  const RuntimeHandle recording = MakeRuntime(ATTUNE_RECORD);
  EventLog log;
  const RuntimeHandle tuning = MakeRuntime(ATTUNE_DEFERRED);
  ASSERT_TRUE(recording != nullptr && tuning != nullptr) << attune_last_message();
  log.Listen(tuning.get());

  ASSERT_TRUE(Multiply(recording.get(), 16));
  ASSERT_TRUE(Multiply(tuning.get(), 17));
  ASSERT_TRUE(IsIdle(recording.get()) && IsIdle(tuning.get()));
  EXPECT_EQ(CountersOf(tuning.get()).tuning_failures, 1u);
  EXPECT_THAT(log.Message(ATTUNE_EVENT_TUNING_FAILED), HasSubstr("No space"));

  // With space again, the waiting problems are written.
  std::filesystem::remove(world.folder() / "disk/filler");
  while (ProblemsUnder(database, "recorded") == 0) std::this_thread::yield();
  EXPECT_EQ(ProblemsUnder(database, "recorded"), 1u);
}

TEST(HostileStorage, AReadOnlyFolderServesFromItsIndex) {
  RuntimeWorld world;
  const Mount disk(world.folder() / "disk", "size=16m");
  if (!disk.is_there()) GTEST_SKIP() << "A file system can be mounted by the superuser only.";
  world.Set("ATTUNE_DB", (world.folder() / "disk/attune.db").string());
  TuneOnce(world);
  ASSERT_TRUE(disk.MakeReadOnly());
  const RuntimeHandle runtime = MakeRuntime(ATTUNE_DEFERRED);
  ASSERT_NE(runtime, nullptr) << attune_last_message();

  ASSERT_TRUE(Multiply(runtime.get(), 16));
  EXPECT_EQ(ServedByRecord(runtime.get()), 1u);
  ASSERT_TRUE(Multiply(runtime.get(), 17));
  ASSERT_TRUE(IsIdle(runtime.get()));

  EXPECT_EQ(CountersOf(runtime.get()).tuning_failures, 1u);
}

// Copies every set of `from` to `to`, its candidates named after a solver that does not exist.
void CopyWithLostSolver(const std::string& from, const std::string& to) {
  const auto source = OpenSqlStore(from);
  const auto target = OpenSqlStore(to);
  ASSERT_TRUE(source.ok() && target.ok());
  std::vector<RecordedSet> sets;
  ASSERT_TRUE((*source)
                  ->Visit({},
                          [&](const RecordedSet& recorded) {
                            sets.push_back(recorded);
                            return Status::Ok();
                          })
                  .ok());
  for (const RecordedSet& recorded : sets) {
    std::vector<Trial> trials = TrialsOf(recorded);
    for (Trial& trial : trials) trial.candidate.solver.name = "fake.lost";
    ASSERT_EQ((*target)->BeginSet(recorded.set), Status::Ok());
    ASSERT_EQ((*target)->Append(recorded.set.id, trials), Status::Ok());
    ASSERT_EQ((*target)->FinishSet(recorded.set.id), Status::Ok());
  }
}

TEST(HostileStorage, ARecordOfALostSolverIsSkippedCountedAndMeasuredAgain) {
  RuntimeWorld world;
  TuneOnce(world);
  const std::string database = (world.folder() / "lost.db").string();
  CopyWithLostSolver(world.database(), database);
  {
    // By a release that had the solver.
    const auto store = OpenSqlStore(database);
    ASSERT_TRUE(RefreshIndex(**store, IndexPathOf(database), {}).ok());
  }
  world.Set("ATTUNE_DB", database);
  EventLog log;
  const RuntimeHandle runtime = MakeRuntime(ATTUNE_DEFERRED);
  ASSERT_NE(runtime, nullptr) << attune_last_message();
  log.Listen(runtime.get());

  ASSERT_TRUE(Multiply(runtime.get(), 16));
  ASSERT_TRUE(IsIdle(runtime.get()));

  const attune_counters counters = CountersOf(runtime.get());
  EXPECT_GE(counters.skipped_records, 1u);
  EXPECT_THAT(log.Message(ATTUNE_EVENT_SKIPPED), HasSubstr("fake.lost"));
  EXPECT_EQ(counters.tunings, 1u) << log.Message(ATTUNE_EVENT_TUNING_FAILED);
  EXPECT_EQ(counters.swaps, 1u);
}

// These pipes never have a writer: a process that waits for one never ends.
TEST(HostileStorage, APipeInThePlaceOfAFileIsNotWaitedFor) {
  for (const char* suffix : {".index", ""}) {
    RuntimeWorld world;
    const std::string pipe = world.database() + suffix;
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);

    const RuntimeHandle runtime = MakeRuntime(ATTUNE_NEVER);

    ASSERT_NE(runtime, nullptr) << attune_last_message();
    EXPECT_TRUE(Multiply(runtime.get(), 16)) << attune_last_message();
    EXPECT_TRUE(IsIdle(runtime.get()));
    EXPECT_THAT(Explanation(runtime.get()), HasSubstr("not used")) << pipe;
  }
}

TEST(HostileStorage, ALimitOnTheSizeOfFilesCostsTheRecordsAndNotTheProgram) {
  // Two problems fit into a kilobyte of a spool; no database does.
  for (const auto& [policy, limit_bytes] : {std::pair<const char*, rlim_t>("record", 64),
                                            {"record", 1024},
                                            {"deferred", 1024},
                                            {"inline", 1024}}) {
    SCOPED_TRACE(policy);
    RuntimeWorld world;
    world.Set("ATTUNE_POLICY", policy);

    // The signal that a write beyond the limit causes would end the child.
    const int child = InChild([&, bytes = limit_bytes] {
      const rlimit limit = {bytes, bytes};
      if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
      RuntimeHandle runtime = MakeRuntime(ATTUNE_POLICY_DEFAULT);
      if (runtime == nullptr) return 2;
      if (!Multiply(runtime.get(), 16) || !Multiply(runtime.get(), 17)) return 3;
      const attune_code waited = attune_wait_idle(runtime.get(), 60'000);
      const bool has_no_room = bytes < 1024;
      if (has_no_room != (waited == ATTUNE_RESOURCE_EXHAUSTED)) return 4;
      runtime = nullptr;
      return 0;
    });

    EXPECT_EQ(child, 0);
  }
}

}  // namespace
}  // namespace attune
