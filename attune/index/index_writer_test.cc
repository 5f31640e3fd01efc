#include "attune/index/index_writer.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/file.h"
#include "attune/index/index_file.h"
#include "attune/index/sample_choices.h"
#include "attune/index/turn_file.h"
#include "attune/ops/gemm/gemm.h"
#include "attune/record/memory_store.h"

namespace attune {
namespace {

namespace fs = std::filesystem;

class IndexWriterTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string folder = (fs::temp_directory_path() / "attune-index-XXXXXX").string();
    ASSERT_NE(::mkdtemp(folder.data()), nullptr);
    folder_ = folder;
    path_ = folder_ / "attune.db.index";
  }
  void TearDown() override { fs::remove_all(folder_); }

  IndexRefresh Refresh(RecordStore& store) {
    const auto refresh = RefreshIndex(store, path_, {});
    EXPECT_EQ(refresh.status(), Status::Ok());
    return refresh.value_or(IndexRefresh{});
  }
  std::unique_ptr<ChoiceIndex> Open() { return std::move(*ChoiceIndex::Open(path_)); }
  std::string Bytes() { return ReadFile(path_).value(); }
  // Number of the candidate that the index has for `problem`, or -1.
  int64_t Winner(const Problem& problem) {
    const auto choices = Open()->Find(problem).value();
    return choices.empty() ? -1 : IntegerAt(choices.front().best().candidate.config, "threads");
  }

  fs::path folder_;
  fs::path path_;
};

Problem ProblemNumber(int64_t number) { return PackedGemm(8 + number, 16, 32); }

// The exit status of a child that runs `body`; -1 if a signal ended it.
int InChild(const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body());
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// A store that runs `before_visit` first, as another process might.
class TappedStore final : public RecordStore {
 public:
  TappedStore(RecordStore& store, std::function<Status()> before_visit)
      : store_(store), before_visit_(std::move(before_visit)) {}

  Status AddProblems(std::string_view tag, std::span<const TaggedProblem> problems) override {
    return store_.AddProblems(tag, problems);
  }
  Result<std::vector<TaggedProblem>> Problems(std::string_view tag) override {
    return store_.Problems(tag);
  }
  Result<std::vector<std::pair<std::string, int64_t>>> Tags() override { return store_.Tags(); }
  Status AddNetwork(const Network& network, std::span<const TaggedProblem> problems) override {
    return store_.AddNetwork(network, problems);
  }
  Result<std::vector<TaggedProblem>> ProblemsOf(const Network& network) override {
    return store_.ProblemsOf(network);
  }
  Result<std::vector<std::pair<Network, int64_t>>> Networks() override { return store_.Networks(); }
  Status BeginSet(const MeasurementSet& set) override { return store_.BeginSet(set); }
  Status Append(std::string_view set_id, std::span<const Trial> trials) override {
    return store_.Append(set_id, trials);
  }
  Status AppendQualified(std::string_view set_id, std::span<const Qualified> results) override {
    return store_.AppendQualified(set_id, results);
  }
  Status NoteConditions(std::string_view set_id, const SetConditions& conditions) override {
    return store_.NoteConditions(set_id, conditions);
  }
  Status FinishSet(std::string_view set_id) override { return store_.FinishSet(set_id); }
  Result<StoreState> State() override { return store_.State(); }
  Status Visit(const RecordQuery& query,
               const std::function<Status(const RecordedSet&)>& visit) override {
    ATTUNE_RETURN_IF_ERROR(before_visit_());
    return store_.Visit(query, visit);
  }

 private:
  RecordStore& store_;
  std::function<Status()> before_visit_;
};

TEST_F(IndexWriterTest, TheIndexLiesBesideItsDatabase) {
  EXPECT_EQ(IndexPathOf("/a/b/attune.db"), fs::path("/a/b/attune.db.index"));
  EXPECT_EQ(IndexPathOf("sqlite:/a/b.db"), fs::path("/a/b.db.index"));
  EXPECT_EQ(IndexPathOf("sqlite:///a/b.db"), fs::path("/a/b.db.index"));
}

TEST_F(IndexWriterTest, FinishedSetsAreInTheIndexAfterARefresh) {
  MemoryStore store;
  for (int64_t i = 0; i < 5; ++i) Tune(store, ProblemNumber(i), 0, static_cast<uint64_t>(i));

  const IndexRefresh refresh = Refresh(store);

  EXPECT_TRUE(refresh.rebuilt);
  EXPECT_FALSE(refresh.unchanged);
  EXPECT_EQ(refresh.problems, 5);
  EXPECT_EQ(refresh.sets_read, 5);
  EXPECT_EQ(refresh.identity.database_id, store.State().value().database_id);
  EXPECT_EQ(Open()->identity(), refresh.identity);
  for (int64_t i = 0; i < 5; ++i) EXPECT_EQ(Winner(ProblemNumber(i)), i);
}

TEST_F(IndexWriterTest, ASetThatIsFinishedAfterARefreshIsInTheNextOne) {
  MemoryStore store;
  const MeasurementSet set = NewSet(ProblemNumber(1), 0);
  ASSERT_TRUE(store.BeginSet(set).ok());
  ASSERT_TRUE(store.Append(set.id, DecidedTrials(7, 2)).ok());
  Refresh(store);
  EXPECT_EQ(Winner(ProblemNumber(1)), -1);
  ASSERT_TRUE(store.FinishSet(set.id).ok());

  Refresh(store);

  EXPECT_EQ(Winner(ProblemNumber(1)), 7);
}

TEST_F(IndexWriterTest, RefreshingStepByStepGivesTheBytesOfRebuilding) {
  MemoryStore store;
  Random random(1);
  for (int64_t i = 0; i < 60; ++i) {
    Tune(store, ProblemNumber(static_cast<int64_t>(random.Below(20))), random.Below(3),
         random.Below(100));
    if (i % 7 != 0) continue;
    const IndexRefresh refresh = Refresh(store);
    EXPECT_EQ(refresh.rebuilt, i == 0);
    EXPECT_LE(refresh.sets_read, 7);
  }
  Refresh(store);
  const std::string step_by_step = Bytes();

  fs::remove(path_);
  Refresh(store);

  EXPECT_EQ(Bytes(), step_by_step);
}

TEST_F(IndexWriterTest, AnIndexThatIsUpToDateIsLeftAlone) {
  MemoryStore store;
  Tune(store, ProblemNumber(1), 0, 1);
  Refresh(store);
  struct stat before {};
  ASSERT_EQ(::stat(path_.c_str(), &before), 0);

  const IndexRefresh refresh = Refresh(store);

  struct stat after {};
  ASSERT_EQ(::stat(path_.c_str(), &after), 0);
  EXPECT_TRUE(refresh.unchanged);
  EXPECT_EQ(refresh.problems, 1);
  EXPECT_EQ(before.st_ino, after.st_ino);
}

TEST_F(IndexWriterTest, TrialsOfAnUnfinishedSetMakeNoNewFile) {
  MemoryStore store;
  Tune(store, ProblemNumber(1), 0, 1);
  Refresh(store);
  const MeasurementSet set = NewSet(ProblemNumber(2), 0);
  ASSERT_TRUE(store.BeginSet(set).ok());
  ASSERT_TRUE(store.Append(set.id, DecidedTrials(7, 2)).ok());

  EXPECT_TRUE(Refresh(store).unchanged);
}

TEST_F(IndexWriterTest, TheIndexOfAnotherDatabaseIsReplaced) {
  MemoryStore other;
  for (int64_t i = 0; i < 9; ++i) Tune(other, ProblemNumber(i), 0, 1);
  Refresh(other);
  MemoryStore store;
  Tune(store, ProblemNumber(3), 0, 2);

  const IndexRefresh refresh = Refresh(store);

  EXPECT_TRUE(refresh.rebuilt);
  EXPECT_EQ(refresh.problems, 1);
  EXPECT_EQ(Winner(ProblemNumber(3)), 2);
  EXPECT_EQ(Winner(ProblemNumber(4)), -1);
}

TEST_F(IndexWriterTest, AnIndexThatIsAheadOfItsDatabaseIsReplaced) {
  MemoryStore store;
  Tune(store, ProblemNumber(1), 0, 1);
  Refresh(store);
  std::string bytes = Bytes();
  IndexHeader header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  header.last_revision += 100;
  header.check = CheckOfHeader(header);
  std::memcpy(bytes.data(), &header, sizeof(header));
  ASSERT_TRUE(WriteFileAtomically(path_, bytes).ok());

  const IndexRefresh refresh = Refresh(store);

  EXPECT_TRUE(refresh.rebuilt);
  EXPECT_EQ(Open()->identity().last_revision, store.State().value().last_revision);
}

TEST_F(IndexWriterTest, ADamagedIndexOrOneOfAnotherVersionIsRebuilt) {
  MemoryStore store;
  for (int64_t i = 0; i < 5; ++i) Tune(store, ProblemNumber(i), 0, 1);
  Refresh(store);
  const std::string good = Bytes();
  Random random(2);
  for (int i = 0; i < 100; ++i) {
    std::string bad = good;
    bad[random.Below(bad.size())] ^= 0x10;
    ASSERT_TRUE(WriteFileAtomically(path_, bad).ok());

    EXPECT_TRUE(Refresh(store).rebuilt);
    EXPECT_EQ(Bytes(), good);
  }
}

TEST_F(IndexWriterTest, AReaderKeepsTheIndexThatItOpened) {
  MemoryStore store;
  Tune(store, ProblemNumber(1), 0, 1);
  Refresh(store);
  const auto old = Open();
  Tune(store, ProblemNumber(1), 0, 2);

  Refresh(store);

  EXPECT_EQ(old->Find(ProblemNumber(1)).value().at(0).best().candidate, CandidateNumber(1));
  EXPECT_EQ(Winner(ProblemNumber(1)), 2);
}

TEST_F(IndexWriterTest, AFailingStoreLeavesTheOldFileAndNothingBesideIt) {
  MemoryStore store;
  Tune(store, ProblemNumber(1), 0, 1);
  Refresh(store);
  const std::string before = Bytes();
  Tune(store, ProblemNumber(2), 0, 2);
  TappedStore failing(store, [] { return Unavailable("The disk is gone."); });

  const auto refresh = RefreshIndex(failing, path_, {});

  EXPECT_EQ(refresh.status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(Bytes(), before);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1);
}

TEST_F(IndexWriterTest, AFullDiskLeavesTheOldFile) {
  MemoryStore store;
  Tune(store, ProblemNumber(1), 0, 1);
  Refresh(store);
  const std::string before = Bytes();
  Tune(store, ProblemNumber(2), 0, 2);

  const int exit_status = InChild([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{300, 300};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const Status status = RefreshIndex(store, path_, {}).status();
    return status.code() == StatusCode::kResourceExhausted ? 0 : 1;
  });

  EXPECT_EQ(exit_status, 0);
  EXPECT_EQ(Bytes(), before);
}

TEST_F(IndexWriterTest, AKilledWriterLeavesTheOldFileAndTheNextOneGoesOn) {
  MemoryStore store;
  Tune(store, ProblemNumber(1), 0, 1);
  Refresh(store);
  const std::string before = Bytes();
  Tune(store, ProblemNumber(2), 0, 2);
  TappedStore deadly(store, [this]() -> Status {
    // The state of a writer just before the rename.
    const UniqueFd half(::open((path_.string() + ".new").c_str(), O_WRONLY | O_CLOEXEC));
    if (::write(half.get(), "half a file", 11) != 11) ::_exit(2);
    ::raise(SIGKILL);
    return Status::Ok();
  });

  EXPECT_EQ(InChild([&] { return RefreshIndex(deadly, path_, {}).ok() ? 0 : 1; }), -1);
  EXPECT_EQ(Bytes(), before);
  EXPECT_TRUE(fs::exists(path_.string() + ".new"));

  Refresh(store);

  EXPECT_EQ(Winner(ProblemNumber(2)), 2);
  EXPECT_FALSE(fs::exists(path_.string() + ".new"));
}

TEST_F(IndexWriterTest, ThreadsThatTuneAndRefreshLoseNoSet) {
  MemoryStore store;
  constexpr int64_t kThreads = 4;
  constexpr int64_t kProblems = 20;
  std::vector<std::thread> threads;
  for (int64_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int64_t i = 0; i < kProblems; ++i) {
        Tune(store, ProblemNumber(thread * kProblems + i), 0, 1);
        const auto refresh = RefreshIndex(store, path_, {});
        EXPECT_TRUE(refresh.ok()) << refresh.status().message();
      }
    });
  }

  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(Open()->problem_count(), kThreads * kProblems);
  EXPECT_EQ(Open()->identity().last_revision, store.State().value().last_revision);
}

TEST_F(IndexWriterTest, ARefreshNeedsAFolderThatCanBeWritten) {
  MemoryStore store;

  const auto refresh = RefreshIndex(store, folder_ / "missing" / "index", {});

  EXPECT_EQ(refresh.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(refresh.status().message(), ::testing::HasSubstr("missing"));
}

TEST_F(IndexWriterTest, WhoHasToWaitTooLongForATurnIsTold) {
  const auto turn = TurnFile::Take(path_, 0);
  ASSERT_EQ(turn.status(), Status::Ok());

  const Status status = TurnFile::Take(path_, 0).status();

  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_THAT(status.message(), ::testing::HasSubstr(".new"));
}

TEST_F(IndexWriterTest, NewerChoicesAreThoseThatTheIndexLacks) {
  MemoryStore store;
  Tune(store, ProblemNumber(1), 0, 1);
  const IndexRefresh refresh = Refresh(store);
  Tune(store, ProblemNumber(1), 0, 2);
  Tune(store, ProblemNumber(2), 0, 3);
  int64_t last_revision = 0;

  const auto overlay =
      std::move(*ReadNewerChoices(store, refresh.identity.last_revision, {}, &last_revision));

  EXPECT_EQ(overlay->problem_count(), 2);
  EXPECT_EQ(overlay->Find(ProblemNumber(1)).value().at(0).best().candidate, CandidateNumber(2));
  EXPECT_EQ(last_revision, store.State().value().last_revision);
  EXPECT_EQ((*ReadNewerChoices(store, last_revision, {}, &last_revision))->problem_count(), 0);
}

}  // namespace
}  // namespace attune
