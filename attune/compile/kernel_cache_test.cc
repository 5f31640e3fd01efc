#include "attune/compile/kernel_cache.h"
#include "attune/compile/default_kernel_cache.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/file.h"
#include "attune/base/random.h"

namespace attune {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

BuildRecipe Recipe(const std::string& source) { return {source, "-O2", "compiler 1", "device 1"}; }

class FolderKernelCacheTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "attune_kernel_cache_XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::unique_ptr<FolderKernelCache> Open(int64_t limit_bytes = int64_t{1} << 30) {
    auto cache = FolderKernelCache::Open(folder_, {.limit_bytes = limit_bytes});
    EXPECT_TRUE(cache.ok()) << cache.status().ToString();
    return std::move(*cache);
  }

  // Sets the time of last use of an entry: `hours` ago.
  void Age(const fs::path& path, int hours) {
    fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(hours));
  }

  size_t FileCount() const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  fs::path folder_;
};

TEST(KernelCacheKeyTest, EveryFieldAndEveryBoundaryCounts) {
  const std::set<Fingerprint> keys = {
      KernelCacheKey({"ab", "c", "d", "e"}), KernelCacheKey({"a", "bc", "d", "e"}),
      KernelCacheKey({"ab", "cd", "", "e"}), KernelCacheKey({"ab", "c", "de", ""}),
      KernelCacheKey({"ab", "c", "d", "f"}), KernelCacheKey({"ab", "c", "x", "e"}),
      KernelCacheKey({"ab", "x", "d", "e"}), KernelCacheKey({"xb", "c", "d", "e"})};

  EXPECT_EQ(keys.size(), 8u);
}

TEST(KernelCacheKeyTest, IsTheOneThatTheFormatPageDefines) {
  EXPECT_EQ(KernelCacheKey({"ab", "c", "", "e"}), FingerprintOf("attune kernel 1\n2:ab1:c0:1:e"));
}

TEST(MemoryKernelCacheTest, DropsTheEntryThatWasNotUsedForLongest) {
  MemoryKernelCache cache(2);
  ASSERT_TRUE(cache.Store(Recipe("a"), {"A"}).ok());
  ASSERT_TRUE(cache.Store(Recipe("b"), {"B"}).ok());
  ASSERT_TRUE(cache.Find(Recipe("a")).has_value());

  ASSERT_TRUE(cache.Store(Recipe("c"), {"C"}).ok());

  EXPECT_TRUE(cache.Find(Recipe("a")).has_value());
  EXPECT_FALSE(cache.Find(Recipe("b")).has_value());
  EXPECT_EQ(cache.counters().evictions, 1);
}

TEST_F(FolderKernelCacheTest, AnotherProcessFindsWhatThisOneStored) {
  const std::string code(
      "\0\x7f"
      "ELF\xff",
      6);
  ASSERT_TRUE(Open()->Store(Recipe("source"), {code}).ok());

  const pid_t child = ::fork();
  if (child == 0) {
    const auto found = Open()->Find(Recipe("source"));
    ::_exit(found && found->bytes == code ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);

  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

constexpr FolderKernelCacheOptions kImpatient{.longest_turn = std::chrono::milliseconds(0)};

TEST_F(FolderKernelCacheTest, OneRecipeHasOneTurnAtATimeAndOthersTheirOwn) {
  const auto cache = Open();
  const auto other = std::move(*FolderKernelCache::Open(folder_, kImpatient));

  const BuildTurn turn = cache->AwaitTurn(Recipe("a"));

  EXPECT_TRUE(turn.lock.valid());
  EXPECT_FALSE(turn.is_compiled);
  // A stuck process is not waited for.
  EXPECT_FALSE(other->AwaitTurn(Recipe("a")).lock.valid());
  EXPECT_TRUE(other->AwaitTurn(Recipe("b")).lock.valid());
}

TEST_F(FolderKernelCacheTest, WhoeverWaitedForATurnLearnsThatTheKernelIsThere) {
  const auto cache = Open();
  const auto other = Open();
  BuildTurn second;
  {
    BuildTurn first = cache->AwaitTurn(Recipe("a"));
    std::thread waiting([&] { second = other->AwaitTurn(Recipe("a")); });
    EXPECT_TRUE(cache->Store(Recipe("a"), {"A"}).ok());
    first.lock.Reset();
    waiting.join();
  }

  EXPECT_TRUE(second.lock.valid());
  EXPECT_TRUE(second.is_compiled);
}

TEST_F(FolderKernelCacheTest, AProcessThatIsKilledGivesItsTurnBack) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const BuildTurn turn = Open()->AwaitTurn(Recipe("a"));
    const char has_turn = turn.lock.valid() ? 1 : 0;
    ::_exit(::write(ready[1], &has_turn, 1) == 1 ? ::pause() : 1);
  }
  char has_turn = 0;
  ASSERT_EQ(::read(ready[0], &has_turn, 1), 1);
  const auto cache = std::move(*FolderKernelCache::Open(folder_, kImpatient));
  const bool excluded = !cache->AwaitTurn(Recipe("a")).lock.valid();

  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);

  EXPECT_EQ(has_turn, 1);
  EXPECT_TRUE(excluded);
  EXPECT_TRUE(cache->AwaitTurn(Recipe("a")).lock.valid());
  for (const int end : ready) ::close(end);
}

TEST_F(FolderKernelCacheTest, OtherCompilerOrDeviceIsAMiss) {
  const auto cache = Open();
  ASSERT_TRUE(cache->Store(Recipe("source"), {"code"}).ok());

  BuildRecipe other_compiler = Recipe("source");
  other_compiler.compiler = "compiler 2";
  BuildRecipe other_device = Recipe("source");
  other_device.target = "device 2";

  EXPECT_FALSE(cache->Find(other_compiler).has_value());
  EXPECT_FALSE(cache->Find(other_device).has_value());
  EXPECT_EQ(cache->counters(), (KernelCacheCounters{.misses = 2, .stores = 1}));
}

TEST_F(FolderKernelCacheTest, EveryFlippedBitAndEveryCutIsFoundAndTheEntryReplaced) {
  const auto cache = Open();
  const BuildRecipe recipe = Recipe("source");
  ASSERT_TRUE(cache->Store(recipe, {"some machine code"}).ok());
  const std::string intact = *ReadFile(cache->PathOf(recipe));
  std::vector<std::string> damaged;
  for (size_t bit = 0; bit < intact.size() * 8; ++bit) {
    damaged.push_back(intact);
    damaged.back()[bit / 8] = static_cast<char>(damaged.back()[bit / 8] ^ (1 << (bit % 8)));
  }
  for (size_t size = 0; size < intact.size(); ++size) damaged.push_back(intact.substr(0, size));
  damaged.push_back(intact + "x");

  for (const std::string& content : damaged) {
    std::ofstream(cache->PathOf(recipe), std::ios::binary) << content;
    ASSERT_FALSE(cache->Find(recipe).has_value());
    ASSERT_FALSE(fs::exists(cache->PathOf(recipe)));
  }
  ASSERT_TRUE(cache->Store(recipe, {"some machine code"}).ok());

  EXPECT_EQ(cache->counters().corrupt, static_cast<int64_t>(damaged.size()));
  EXPECT_EQ(cache->Find(recipe)->bytes, "some machine code");
}

TEST_F(FolderKernelCacheTest, EntryUnderAnothersNameIsCorrupt) {
  const auto cache = Open();
  ASSERT_TRUE(cache->Store(Recipe("a"), {"A"}).ok());
  fs::rename(cache->PathOf(Recipe("a")), cache->PathOf(Recipe("b")));

  EXPECT_FALSE(cache->Find(Recipe("b")).has_value());

  EXPECT_EQ(cache->counters().corrupt, 1);
}

// Each child stores large entries over and over and is killed after a number of stores that differs
// from child to child by a seeded amount of work, so that the kill lands in every part of a write.
TEST_F(FolderKernelCacheTest, KilledWritersLeaveNoTornEntry) {
  constexpr int kWriters = 25;
  constexpr size_t kPayloadBytes = 1 << 20;
  Random random(7);
  for (int writer = 0; writer < kWriters; ++writer) {
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      const auto cache = Open();
      const char started = 1;
      for (int i = 0;; ++i) {
        const std::string payload(kPayloadBytes, static_cast<char>('a' + i % 26));
        if (!cache->Store(Recipe(std::to_string(i % 3)), {payload}).ok()) ::_exit(1);
        if (::write(ready[1], &started, 1) != 1) ::_exit(1);
      }
    }
    ::close(ready[1]);
    char started = 0;
    ASSERT_EQ(::read(ready[0], &started, 1), 1);
    volatile uint64_t work = random.Below(4000000);
    while (work > 0) work = work - 1;
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ::close(ready[0]);
    ASSERT_TRUE(WIFSIGNALED(status));

    const auto cache = Open();
    for (int i = 0; i < 3; ++i) {
      const auto found = cache->Find(Recipe(std::to_string(i)));
      if (!found) continue;
      ASSERT_EQ(found->bytes.size(), kPayloadBytes);
      EXPECT_EQ(found->bytes.find_first_not_of(found->bytes[0]), std::string::npos);
    }
    EXPECT_EQ(cache->counters().corrupt, 0);
  }
  EXPECT_TRUE(Open()->Find(Recipe("0")).has_value());
}

TEST_F(FolderKernelCacheTest, TwoProcessesThatStoreTheSameEntriesBothSucceed) {
  constexpr int kEntries = 40;
  const auto store_all = [&](char fill) {
    const auto cache = Open();
    for (int i = 0; i < kEntries; ++i) {
      const std::string payload(100000 + static_cast<size_t>(i), fill);
      if (!cache->Store(Recipe(std::to_string(i)), {payload}).ok()) return false;
      const auto found = cache->Find(Recipe(std::to_string(i)));
      if (!found || found->bytes.size() != payload.size()) return false;
    }
    return cache->counters().corrupt == 0;
  };
  const pid_t child = ::fork();
  if (child == 0) ::_exit(store_all('c') ? 0 : 1);

  const bool parent_succeeded = store_all('p');
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);

  EXPECT_TRUE(parent_succeeded);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(FileCount(), static_cast<size_t>(kEntries));
}

TEST_F(FolderKernelCacheTest, SweepKeepsWhatWasUsedLast) {
  const auto cache = Open(10000);
  const std::string payload(3000, 'x');
  for (const char* source : {"old", "older", "new"}) {
    ASSERT_TRUE(cache->Store(Recipe(source), {payload}).ok());
  }
  Age(cache->PathOf(Recipe("old")), 2);
  Age(cache->PathOf(Recipe("older")), 3);
  Age(cache->PathOf(Recipe("new")), 1);
  ASSERT_TRUE(cache->Find(Recipe("older")).has_value());  // Now it is the youngest.

  ASSERT_TRUE(cache->Store(Recipe("newest"), {payload}).ok());

  EXPECT_FALSE(cache->Find(Recipe("old")).has_value());
  EXPECT_TRUE(cache->Find(Recipe("older")).has_value());
  EXPECT_TRUE(cache->Find(Recipe("newest")).has_value());
  EXPECT_EQ(cache->counters().evictions, 2);  // Down to 90 % of the limit, not just below it.
}

TEST_F(FolderKernelCacheTest, ManySmallEntriesStayNearTheLimit) {
  constexpr int64_t kLimitBytes = 20000;
  const auto cache = Open(kLimitBytes);

  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(cache->Store(Recipe(std::to_string(i)), {std::string(400, 'x')}).ok());
  }

  int64_t total_bytes = 0;
  for (const auto& entry : fs::directory_iterator(folder_)) {
    total_bytes += static_cast<int64_t>(entry.file_size());
  }
  EXPECT_LE(total_bytes, kLimitBytes * 11 / 10);
  EXPECT_GT(cache->counters().evictions, 0);
}

TEST_F(FolderKernelCacheTest, SweepRemovesOnlyTemporaryFilesOfDeadWriters) {
  const auto cache = Open();
  const fs::path dead = folder_ / "00000000000000000000000000000000.kernel.tmp.1";
  const fs::path alive = folder_ / "00000000000000000000000000000001.kernel.tmp.2";
  const fs::path foreign = folder_ / "notes.txt";
  for (const fs::path& path : {dead, alive, foreign}) std::ofstream(path) << "x";
  Age(dead, 2);
  Age(foreign, 2);

  cache->Sweep();

  EXPECT_FALSE(fs::exists(dead));
  EXPECT_TRUE(fs::exists(alive));
  EXPECT_TRUE(fs::exists(foreign));
}

TEST_F(FolderKernelCacheTest, NewFolderIsClosedToOthers) {
  const fs::path folder = folder_ / "a" / "b";

  ASSERT_TRUE(FolderKernelCache::Open(folder).ok());

  struct stat attributes {};
  ASSERT_EQ(::stat(folder.c_str(), &attributes), 0);
  EXPECT_EQ(attributes.st_mode & 0777, 0700u);
}

TEST_F(FolderKernelCacheTest, NewFolderIsClosedToOthersWhateverTheUmask) {
  const mode_t old_umask = ::umask(0);
  const auto cache = FolderKernelCache::Open(folder_ / "new");
  ::umask(old_umask);

  ASSERT_TRUE(cache.ok());
  EXPECT_EQ(fs::status(folder_ / "new").permissions(), fs::perms::owner_all);
}

TEST_F(FolderKernelCacheTest, FolderThatOthersMayWriteToIsRefused) {
  for (const mode_t mode : {0720u, 0702u, 0777u}) {
    ASSERT_EQ(::chmod(folder_.c_str(), mode), 0);

    const Status status = FolderKernelCache::Open(folder_).status();

    EXPECT_EQ(status.code(), StatusCode::kUnavailable);
    EXPECT_THAT(status.message(), HasSubstr(folder_.string()));
    EXPECT_THAT(status.message(),
                AllOf(HasSubstr("lets others write"), HasSubstr("run chmod go-w on it, or name")));
  }
  ASSERT_EQ(::chmod(folder_.c_str(), 0755), 0);
  EXPECT_TRUE(FolderKernelCache::Open(folder_).ok());
}

TEST_F(FolderKernelCacheTest, FolderOfAnotherUserIsRefused) {
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(folder_.c_str(), 4711, 4711), 0);
  }
  // Only root can change the owner of a folder; the root of the file system is not an ordinary
  // user's.
  const fs::path foreign = ::geteuid() == 0 ? folder_ : fs::path("/");

  const Status status = FolderKernelCache::Open(foreign).status();

  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_THAT(status.message(),
              AllOf(HasSubstr("belongs to user"), HasSubstr("move it away, so that")));
}

TEST_F(FolderKernelCacheTest, LinkInPlaceOfTheFolderIsRefused) {
  fs::create_directory(folder_ / "real");
  fs::create_symlink(folder_ / "real", folder_ / "link");

  const Status status = FolderKernelCache::Open(folder_ / "link").status();

  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_THAT(status.message(),
              AllOf(HasSubstr("symbolic link"), HasSubstr("put the folder itself there")));
}

TEST_F(FolderKernelCacheTest, FileInPlaceOfTheFolderIsReportedByName) {
  std::ofstream(folder_ / "file") << "x";

  const auto cache = FolderKernelCache::Open(folder_ / "file");

  ASSERT_FALSE(cache.ok());
  EXPECT_THAT(cache.error().message(),
              AllOf(HasSubstr((folder_ / "file").string()), HasSubstr("put one in its place")));
}

TEST_F(FolderKernelCacheTest, FolderThatVanishedIsAMissAndAnErrorToStore) {
  const auto cache = Open();
  fs::remove_all(folder_);

  const auto found = cache->Find(Recipe("a"));
  const Status stored = cache->Store(Recipe("a"), {"A"});

  EXPECT_FALSE(found.has_value());
  EXPECT_EQ(stored.code(), StatusCode::kNotFound);
  EXPECT_THAT(stored.message(),
              AllOf(HasSubstr("is not kept"), HasSubstr(cache->PathOf(Recipe("a")).string()),
                    HasSubstr("Start this program again")));
}

TEST_F(FolderKernelCacheTest, FolderThatCannotBeMadeIsRefusedWithWhatToDo) {
  std::ofstream(folder_ / "file") << "x";

  const Status status = FolderKernelCache::Open(folder_ / "file" / "kernels").status();

  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("it cannot be made (Not a directory)"),
                                      HasSubstr("make it, with a mode of 0700, or name another")));
}

TEST_F(FolderKernelCacheTest, EntryThatCannotBeReplacedIsReportedWithWhatToDo) {
  const auto cache = Open();
  // Not even the superuser renames a file over a folder.
  fs::create_directory(cache->PathOf(Recipe("a")));

  const Status stored = cache->Store(Recipe("a"), {"A"});

  EXPECT_FALSE(stored.ok());
  EXPECT_THAT(stored.message(),
              AllOf(HasSubstr("is not kept"), HasSubstr("writable to this user")));
}

TEST_F(FolderKernelCacheTest, LimitThatHoldsNothingIsRefusedWithTheUsualOne) {
  const Status status = FolderKernelCache::Open(folder_, {.limit_bytes = 0}).status();

  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("is 0 bytes and must be positive"),
                                      HasSubstr("which means 1073741824")));
}

TEST(DefaultKernelCacheFolderTest, FollowsXdgThenHomeAndFailsWithoutBoth) {
  const char* cache_home = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  const std::string old_cache_home = cache_home ? cache_home : "";
  const std::string old_home = home ? home : "";

  ::setenv("XDG_CACHE_HOME", "/x", 1);
  const auto from_xdg = DefaultKernelCacheFolder();
  ::setenv("XDG_CACHE_HOME", "relative", 1);
  ::setenv("HOME", "/h", 1);
  const auto from_home = DefaultKernelCacheFolder();
  ::unsetenv("HOME");
  const auto from_nothing = DefaultKernelCacheFolder();
  cache_home ? ::setenv("XDG_CACHE_HOME", old_cache_home.c_str(), 1) : ::unsetenv("XDG_CACHE_HOME");
  home ? ::setenv("HOME", old_home.c_str(), 1) : ::unsetenv("HOME");

  EXPECT_EQ(*from_xdg, fs::path("/x/attune/kernels"));
  EXPECT_EQ(*from_home, fs::path("/h/.cache/attune/kernels"));
  EXPECT_EQ(from_nothing.status().code(), StatusCode::kFailedPrecondition);
}

TEST_F(FolderKernelCacheTest, RefusedDefaultFolderLeavesACacheInMemoryAndTheReason) {
  const char* cache_home = std::getenv("XDG_CACHE_HOME");
  const std::string old_cache_home = cache_home ? cache_home : "";
  const fs::path kernels = folder_ / "attune" / "kernels";
  fs::create_directories(kernels);
  ::setenv("XDG_CACHE_HOME", folder_.c_str(), 1);

  ASSERT_EQ(::chmod(kernels.c_str(), 0777), 0);
  const OpenedKernelCache refused = OpenDefaultKernelCache();
  ASSERT_EQ(::chmod(kernels.c_str(), 0700), 0);
  const OpenedKernelCache opened = OpenDefaultKernelCache();
  cache_home ? ::setenv("XDG_CACHE_HOME", old_cache_home.c_str(), 1) : ::unsetenv("XDG_CACHE_HOME");

  EXPECT_EQ(refused.kept.code(), StatusCode::kUnavailable);
  EXPECT_THAT(refused.kept.message(),
              AllOf(HasSubstr(kernels.string()), HasSubstr("XDG_CACHE_HOME decides where it is")));
  ASSERT_TRUE(refused.cache->Store(Recipe("a"), {"A"}).ok());
  EXPECT_TRUE(refused.cache->Find(Recipe("a")).has_value());
  EXPECT_TRUE(fs::is_empty(kernels));
  EXPECT_EQ(opened.kept, Status::Ok());
}

}  // namespace
}  // namespace attune
