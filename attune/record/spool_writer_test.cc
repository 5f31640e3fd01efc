#include "attune/record/spool_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <iterator>
#include <set>
#include <thread>

#include "attune/base/file.h"
#include "attune/base/scratch_folder.h"
#include "attune/ops/gemm/gemm.h"

// Counts allocations, so that tests can prove there are none.
static thread_local int64_t allocations = 0;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
extern "C" void* __libc_malloc(size_t);
extern "C" void* malloc(size_t bytes) noexcept {
  ++allocations;
  return __libc_malloc(bytes);
}
#endif

namespace attune {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::chrono::seconds kPatience{60};

Problem ProductNumber(int64_t number) {
  Gemm gemm;
  gemm.m = 1 + number % 1000;
  gemm.n = 1 + number / 1000;
  gemm.k = 4;
  return Normalized(gemm);
}

struct Told {
  SpoolTrouble trouble;
  SpoolLoss loss;
};

class SpoolWriterTest : public testing::Test {
 protected:
  SpoolWriterOptions Options() {
    SpoolWriterOptions options;
    options.place = SpoolPlaceOf(database(), false);
    options.header.tag = "t";
    options.told = [this](SpoolTrouble trouble, const SpoolLoss& loss) {
      const std::lock_guard lock(mutex_);
      told_.push_back({trouble, loss});
    };
    return options;
  }
  fs::path database() const { return scratch_->path() / "attune.db"; }
  fs::path folder() const { return SpoolFolderOf(database(), ::geteuid()); }

  // The problems of every spool; each file must be whole.
  std::vector<Problem> Written() const {
    std::vector<Problem> problems;
    if (!fs::exists(folder())) return problems;
    for (const auto& entry : fs::directory_iterator(folder())) {
      const auto content = ParseSpool(ReadFile(entry.path()).value());
      EXPECT_TRUE(content.ok()) << content.status().message();
      if (!content.ok()) continue;
      EXPECT_EQ(content->damaged_bytes, 0) << content->damage;
      problems.insert(problems.end(), content->problems.begin(), content->problems.end());
      for (const SpoolLoss& loss : content->losses) kept_losses_ += loss.count;
    }
    return problems;
  }

  const std::unique_ptr<ScratchFolder> scratch_ = *ScratchFolder::Make("attune-test-writer");
  std::mutex mutex_;
  std::vector<Told> told_;
  mutable int64_t kept_losses_ = 0;
};

TEST_F(SpoolWriterTest, EveryProblemIsWrittenOnceInItsOrder) {
  SpoolWriter writer(Options());
  std::vector<Problem> expected;
  for (int i = 0; i < 3000; ++i) {
    expected.push_back(ProductNumber(i));
    EXPECT_TRUE(writer.Append(expected.back()).value());
    EXPECT_FALSE(writer.Append(expected.back()).value());
  }

  ASSERT_EQ(writer.Flush(kPatience), Status::Ok());

  EXPECT_EQ(Written(), expected);
  EXPECT_THAT(told_, IsEmpty());
}

TEST_F(SpoolWriterTest, TheBackgroundWritesWithoutBeingAsked) {
  SpoolWriter writer(Options());

  ASSERT_TRUE(writer.Append(ProductNumber(1)).ok());
  while (Written().empty()) std::this_thread::yield();

  EXPECT_THAT(Written(), ElementsAre(ProductNumber(1)));
}

TEST_F(SpoolWriterTest, ManyThreadsLoseNothing) {
  {
    SpoolWriter writer(Options());
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&writer, t] {
        for (int i = 0; i < 2000; ++i) EXPECT_TRUE(writer.Append(ProductNumber(i * 8 + t)).ok());
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  const std::vector<Problem> written = Written();
  std::set<std::string> different;
  for (const Problem& problem : written) different.insert(Text(problem));
  EXPECT_EQ(written.size(), 16000u);
  EXPECT_EQ(different.size(), 16000u);
}

TEST_F(SpoolWriterTest, WhatCannotBeWrittenIsWrittenLater) {
  SpoolWriter writer(Options());
  fs::create_symlink("/nowhere", folder());
  ASSERT_TRUE(writer.Append(ProductNumber(1)).ok());
  ASSERT_FALSE(writer.Flush(kPatience).ok());
  EXPECT_EQ(writer.waiting_count(), 1);

  fs::remove(folder());
  ASSERT_TRUE(writer.Append(ProductNumber(2)).ok());
  ASSERT_EQ(writer.Flush(kPatience), Status::Ok());

  EXPECT_THAT(Written(), ElementsAre(ProductNumber(1), ProductNumber(2)));
  EXPECT_EQ(writer.waiting_count(), 0);
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_EQ(told_[0].trouble, SpoolTrouble::kWaiting);
}

TEST_F(SpoolWriterTest, WhatCannotBeWrittenAtTheEndIsTold) {
  fs::create_symlink("/nowhere", folder());
  {
    SpoolWriter writer(Options());
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(writer.Append(ProductNumber(i)).ok());
    EXPECT_TRUE(writer.Close(kPatience));
    EXPECT_TRUE(writer.Close(kPatience));
    // Later problems are lost at once.
    EXPECT_FALSE(writer.Append(ProductNumber(6)).ok());
  }

  std::vector<Told> losses;
  for (const Told& told : told_) {
    if (told.trouble == SpoolTrouble::kLost) losses.push_back(told);
  }
  ASSERT_EQ(losses.size(), 2u);
  EXPECT_EQ(losses[0].loss.count, 5);
  EXPECT_THAT(losses[0].loss.reason, HasSubstr("spool-"));
  EXPECT_EQ(losses[1].loss.count, 1);
}

TEST_F(SpoolWriterTest, WhatWaitsIsBoundedAndTheRestIsTold) {
  fs::create_symlink("/nowhere", folder());
  SpoolWriterOptions options = Options();
  options.max_waiting_bytes = 1000;
  SpoolWriter writer(std::move(options));
  int64_t refused = 0;
  for (int i = 0; i < 100; ++i) refused += writer.Append(ProductNumber(i)).ok() ? 0 : 1;
  EXPECT_GT(refused, 50);

  fs::remove(folder());
  EXPECT_EQ(writer.Flush(kPatience).code(), StatusCode::kResourceExhausted);
  EXPECT_TRUE(writer.Close(kPatience));

  EXPECT_EQ(static_cast<int64_t>(Written().size()), 100 - refused);
  EXPECT_EQ(kept_losses_, refused);
  ASSERT_FALSE(told_.empty());
  EXPECT_EQ(told_.back().trouble, SpoolTrouble::kLostKept);
  EXPECT_EQ(told_.back().loss.count, refused);
}

TEST_F(SpoolWriterTest, AFullFileTellsWhatIsMissing) {
  SpoolWriterOptions options = Options();
  options.max_file_bytes = 2000;
  SpoolWriter writer(std::move(options));
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(writer.Append(ProductNumber(i)).ok());
    (void)writer.Flush(kPatience);
  }
  EXPECT_TRUE(writer.Close(kPatience));

  const auto written = static_cast<int64_t>(Written().size());
  EXPECT_GT(written, 5);
  EXPECT_EQ(written + kept_losses_, 100);
  EXPECT_THAT(told_.back().loss.reason, HasSubstr("which is the limit"));
}

TEST_F(SpoolWriterTest, ALateProblemIsWrittenAtOnce) {
  SpoolWriter writer(Options());
  EXPECT_TRUE(writer.Close(kPatience));

  ASSERT_TRUE(writer.Append(ProductNumber(1)).ok());

  EXPECT_THAT(Written(), ElementsAre(ProductNumber(1)));
}

// Waits for the child to end; returns its status.
int EndOf(pid_t child) {
  int status = -1;
  (void)::waitpid(child, &status, 0);
  return status;
}

TEST_F(SpoolWriterTest, WithoutAThreadTheCallerWrites) {
  if (::geteuid() == 0) {
    // The limit does not apply to root.
    ASSERT_EQ(::chmod(scratch_->path().c_str(), 0777), 0);
  }
  const pid_t child = ::fork();
  if (child == 0) {
    constexpr uid_t kNobody = 65534;
    if (::geteuid() == 0 && ::setuid(kNobody) != 0) ::_exit(2);
    const rlimit none = {0, 0};
    if (::setrlimit(RLIMIT_NPROC, &none) != 0) ::_exit(3);
    SpoolWriter writer(Options());
    if (!writer.Append(ProductNumber(1)).ok()) ::_exit(4);
    // The problem is in the file without a flush.
    ::_exit(Written().size() == 1 ? 0 : 5);
  }

  EXPECT_EQ(EndOf(child), 0);
}

TEST_F(SpoolWriterTest, AProcessThatEndsWithoutHandlersWritesWhatWaits) {
  const pid_t child = ::fork();
  if (child == 0) {
    SpoolWriter writer(Options());
    for (int i = 0; i < 10; ++i) (void)writer.Append(ProductNumber(i));
    writer.FlushAtOnce(std::chrono::seconds(1));
    ::_exit(0);
  }

  EXPECT_EQ(EndOf(child), 0);
  EXPECT_EQ(Written().size(), 10u);
}

// Allocations by FlushAtOnce() in a child, where FlushAtOnce() writes first.
int64_t AllocationsOfLastFlush(SpoolWriterOptions options) {
  SpoolWriter writer(std::move(options));
  for (int i = 0; i < 10; ++i) (void)writer.Append(ProductNumber(i));
  const int64_t before = allocations;
  writer.FlushAtOnce(std::chrono::seconds(1));
  return allocations - before;
}

TEST_F(SpoolWriterTest, AnEndWithoutHandlersAllocatesNothing) {
  SpoolWriterOptions options = Options();
  options.delay = std::chrono::hours(1);
  options.told = nullptr;
  const pid_t child = ::fork();
  if (child == 0) ::_exit(AllocationsOfLastFlush(options) == 0 ? 0 : 1);

  EXPECT_EQ(EndOf(child), 0);
  EXPECT_EQ(Written().size(), 10u);
}

TEST_F(SpoolWriterTest, AnEndWithoutHandlersTellsWhatIsLostAndAllocatesNothing) {
  fs::create_symlink("/nowhere", folder());
  static int64_t told_count = 0;
  static char told_reason[1000];
  SpoolWriterOptions options = Options();
  options.delay = std::chrono::hours(1);
  options.told = nullptr;
  options.told_at_once = [](int64_t count, std::string_view reason) {
    told_count = count;
    reason.copy(told_reason, sizeof told_reason - 1);
  };
  const pid_t child = ::fork();
  if (child == 0) {
    if (AllocationsOfLastFlush(options) != 0) ::_exit(1);
    if (told_count != 10) ::_exit(2);
    ::_exit(std::string_view(told_reason).find("spool-") != std::string_view::npos ? 0 : 3);
  }

  EXPECT_EQ(EndOf(child), 0);
}

TEST_F(SpoolWriterTest, WhatIsToldAtOnceIsLostForGood) {
  fs::create_symlink("/nowhere", folder());
  int64_t told_count = 0;
  SpoolWriterOptions options = Options();
  options.delay = std::chrono::hours(1);
  options.told_at_once = [&](int64_t count, std::string_view) { told_count += count; };
  SpoolWriter writer(std::move(options));
  ASSERT_TRUE(writer.Append(ProductNumber(1)).ok());
  // Imitates a program that tries several exec calls.
  writer.FlushAtOnce(kPatience);
  writer.FlushAtOnce(kPatience);
  fs::remove(folder());
  EXPECT_TRUE(writer.Close(kPatience));

  EXPECT_EQ(told_count, 1);
  EXPECT_THAT(Written(), IsEmpty());
  EXPECT_THAT(told_, IsEmpty());
}

TEST_F(SpoolWriterTest, AnExceptionInTheBackgroundEndsNothing) {
  fs::create_symlink("/nowhere", folder());
  std::atomic<int> calls = 0;
  SpoolWriterOptions options = Options();
  options.told = [&](SpoolTrouble, const SpoolLoss&) {
    if (calls++ == 0) throw std::bad_alloc();
  };
  SpoolWriter writer(std::move(options));
  ASSERT_TRUE(writer.Append(ProductNumber(1)).ok());
  while (calls == 0) std::this_thread::yield();

  fs::remove(folder());
  ASSERT_EQ(writer.Flush(kPatience), Status::Ok());

  EXPECT_THAT(Written(), ElementsAre(ProductNumber(1)));
}

TEST_F(SpoolWriterTest, WhatFoundNoRoomIsRecordedWhenItComesAgain) {
  fs::create_symlink("/nowhere", folder());
  SpoolWriterOptions options = Options();
  options.max_waiting_bytes = 100;
  SpoolWriter writer(std::move(options));
  const auto append_all = [&] {
    int64_t refused = 0;
    for (int i = 0; i < 20; ++i) refused += writer.Append(ProductNumber(i)).ok() ? 0 : 1;
    return refused;
  };
  EXPECT_GT(append_all(), 10);
  append_all();
  fs::remove(folder());
  (void)writer.Flush(kPatience);
  while (append_all() > 0) (void)writer.Flush(kPatience);
  (void)writer.Flush(kPatience);

  EXPECT_EQ(Written().size(), 20u);
  EXPECT_LE(kept_losses_, 20);
}

// Sets limits that allow one more thread but leave too little for the program.
TEST_F(SpoolWriterTest, AThreadThatTheProgramNeedsIsNotTaken) {
  if (::geteuid() != 0) GTEST_SKIP() << "it takes the superuser to become a user without threads";
  ASSERT_EQ(::chmod(scratch_->path().c_str(), 0777), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    constexpr uid_t kUnused = 64321;
    if (::setuid(kUnused) != 0) ::_exit(2);
    const rlimit few = {5, 5};
    if (::setrlimit(RLIMIT_NPROC, &few) != 0) ::_exit(3);
    const auto threads = [] {
      const fs::directory_iterator tasks("/proc/self/task");
      return std::distance(begin(tasks), end(tasks));
    };
    // ThreadSanitizer has a thread of its own.
    const auto before = threads();
    SpoolWriter writer(Options());
    if (!writer.Append(ProductNumber(1)).ok()) ::_exit(4);
    if (threads() != before) ::_exit(5);
    ::_exit(Written().size() == 1 ? 0 : 6);
  }

  EXPECT_EQ(EndOf(child), 0);
}

TEST_F(SpoolWriterTest, AChildWritesNothingOfItsParent) {
  SpoolWriter writer(Options());
  ASSERT_TRUE(writer.Append(ProductNumber(1)).ok());
  const pid_t child = ::fork();
  if (child == 0) {
    writer.FlushAtOnce(std::chrono::milliseconds(10));
    ::_exit(0);
  }
  EXPECT_EQ(EndOf(child), 0);
  ASSERT_EQ(writer.Flush(kPatience), Status::Ok());

  EXPECT_THAT(Written(), ElementsAre(ProductNumber(1)));
}

}  // namespace
}  // namespace attune
