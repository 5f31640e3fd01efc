// Processes that share a database and its index: no process reads half an index, no set is lost,
// and an index never goes back.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <functional>
#include <thread>

#include <gtest/gtest.h>

#include "attune/index/index_file.h"
#include "attune/index/index_writer.h"
#include "attune/index/sample_choices.h"
#include "attune/ops/gemm/gemm.h"
#include "storage/sql/sql_store.h"
#include "tests/conformance/store/temporary_folder.h"

namespace attune {
namespace {

class IndexProcessTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(OpenSqlStore(database_).ok()); }

  pid_t Start(const std::function<bool()>& body) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(body() && !::testing::Test::HasFailure() ? 0 : 1);
    return child;
  }
  static int Wait(pid_t child) {
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return status;
  }
  // Tunes problems of its own and refreshes after each. Writes a byte to `report` before and after
  // each refresh, unless it is -1.
  bool TuneAndRefresh(int64_t worker, int64_t count, int report = -1) {
    auto store = OpenSqlStore(database_);
    if (!store.ok()) return false;
    for (int64_t i = 0; i < count; ++i) {
      Tune(**store, PackedGemm(1 + worker, 1 + i, 8), 0, static_cast<uint64_t>(worker));
      if (report >= 0 && ::write(report, "b", 1) != 1) return false;
      const auto refresh = RefreshIndex(**store, index_, {});
      if (report >= 0 && ::write(report, "a", 1) != 1) return false;
      if (!refresh.ok()) {
        ADD_FAILURE() << refresh.status().ToString();
        return false;
      }
    }
    return true;
  }
  // Opens the index again and again until `done`; false if it was ever unsound or went back.
  bool Watch(const std::atomic<bool>& done) {
    int64_t last_revision = 0;
    while (!done) {
      const auto index = ChoiceIndex::Open(index_);
      if (!index.ok() && index.error().code() == StatusCode::kNotFound) continue;
      if (!index.ok() || !(*index)->file().CheckAll().ok()) return false;
      if ((*index)->identity().last_revision < last_revision) return false;
      last_revision = (*index)->identity().last_revision;
    }
    return last_revision > 0;
  }

  TemporaryFolder folder_;
  std::string database_ = folder_.path() / "attune.db";
  std::filesystem::path index_ = IndexPathOf(database_);
};

TEST_F(IndexProcessTest, ProcessesThatTuneAndRefreshAtOnceLoseNothingAndNeverGoBack) {
  constexpr int64_t kWorkers = 3;
  constexpr int64_t kProblems = 15;
  std::vector<pid_t> children;
  for (int64_t worker = 0; worker < kWorkers; ++worker) {
    children.push_back(Start([&] { return TuneAndRefresh(worker, kProblems); }));
  }
  std::atomic<bool> done = false;
  bool was_sound = false;
  std::thread watcher([&] { was_sound = Watch(done); });

  for (const pid_t child : children) EXPECT_EQ(Wait(child), 0);
  done = true;
  watcher.join();

  EXPECT_TRUE(was_sound);
  const auto index = std::move(*ChoiceIndex::Open(index_));
  const auto store = std::move(*OpenSqlStore(database_));
  EXPECT_EQ(index->problem_count(), kWorkers * kProblems);
  EXPECT_EQ(index->identity().last_revision, store->State().value().last_revision);
}

TEST_F(IndexProcessTest, WritersThatAreKilledLeaveASoundIndex) {
  constexpr int64_t kForever = 1'000'000;
  for (int64_t round = 0; round < 20; ++round) {
    int ends[2] = {-1, -1};
    ASSERT_EQ(::pipe(ends), 0);
    const pid_t child = Start([&] { return TuneAndRefresh(round, kForever, ends[1]); });
    ::close(ends[1]);
    // The step at which the last of these bytes comes through differs from round to round.
    for (int64_t i = 0; i <= round % 4; ++i) {
      char byte = 0;
      ASSERT_EQ(::read(ends[0], &byte, 1), 1);
    }
    ::kill(child, SIGKILL);
    Wait(child);
    ::close(ends[0]);

    const auto index = ChoiceIndex::Open(index_);
    if (index.ok()) {
      EXPECT_EQ((*index)->file().CheckAll(), Status::Ok());
    } else {
      EXPECT_EQ(index.error().code(), StatusCode::kNotFound);
    }
  }

  const auto store = std::move(*OpenSqlStore(database_));
  const auto refresh = RefreshIndex(*store, index_, {});

  ASSERT_EQ(refresh.status(), Status::Ok());
  int64_t finished = 0;
  RecordQuery query;
  query.finished_only = true;
  ASSERT_TRUE(store
                  ->Visit(query,
                          [&](const RecordedSet&) {
                            ++finished;
                            return Status::Ok();
                          })
                  .ok());
  EXPECT_EQ(refresh->problems, finished);
}

}  // namespace
}  // namespace attune
