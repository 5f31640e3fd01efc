#include "attune/compile/layered_kernel_cache.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <stop_token>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/compile/builder.h"
#include "attune/compile/counting_solver.h"
#include "attune/ops/gemm/gemm.h"

namespace attune {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "attune-layered-XXXXXX").string();
    if (::mkdtemp(name.data()) != nullptr) path_ = name;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { fs::remove_all(path_); }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

const BuildRecipe kRecipe = {"source", "-O2", "compiler 1", "device"};

// A package with one kernel.
void Pack(const fs::path& folder) {
  auto cache = FolderKernelCache::Open(folder);
  ASSERT_TRUE(cache.ok());
  ASSERT_TRUE((*cache)->Store(kRecipe, {"binary"}).ok());
}

bool AnyEntry(const std::string&, std::string_view) { return true; }

std::unique_ptr<LayeredKernelCache> Over(const fs::path& folder,
                                         PackagedKernels::EntryCheck check = AnyEntry) {
  auto package = PackagedKernels::Open(folder, std::move(check));
  if (!package.ok()) return nullptr;
  std::vector<std::unique_ptr<KernelCache>> packages;
  packages.push_back(std::move(*package));
  return std::make_unique<LayeredKernelCache>(std::make_unique<MemoryKernelCache>(),
                                              std::move(packages));
}

TEST(LayeredKernelCache, AKernelOfAPackageIsNotBuilt) {
  const Folder folder;
  const fs::path kernels = folder.path() / "kernels";
  CountingSolver solver;
  const BuildRequest request{&solver, Gemm{}, {{"tile", int64_t{4}}}};
  {
    auto cache = FolderKernelCache::Open(kernels);
    ASSERT_TRUE(cache.ok());
    Builder builder(**cache);
    ASSERT_NE(builder.Build(request, {}).artifact(), nullptr);
  }
  ASSERT_EQ(solver.builds, 1);

  const auto layered = Over(kernels);
  ASSERT_NE(layered, nullptr);
  Builder builder(*layered);
  const BuildOutcome outcome = builder.Build(request, {});

  EXPECT_TRUE(outcome.from_cache);
  EXPECT_EQ(solver.builds, 1);
  EXPECT_EQ(layered->counters().hits, 1);
}

TEST(LayeredKernelCache, AKernelThatTheCheckRefusesIsAMiss) {
  const Folder folder;
  Pack(folder.path() / "kernels");
  std::string asked;
  const auto layered =
      Over(folder.path() / "kernels", [&](const std::string& name, std::string_view content) {
        asked = name;
        return !content.ends_with("binary");
      });
  ASSERT_NE(layered, nullptr);

  EXPECT_FALSE(layered->Find(kRecipe).has_value());

  EXPECT_TRUE(fs::exists(folder.path() / "kernels" / asked)) << asked;
  EXPECT_EQ(layered->counters().hits, 0);
}

TEST(LayeredKernelCache, WhatIsStoredGoesToTheUsersOwn) {
  const Folder folder;
  Pack(folder.path() / "kernels");
  const auto layered = Over(folder.path() / "kernels");
  ASSERT_NE(layered, nullptr);
  const BuildRecipe other = {"other", "", "", ""};

  ASSERT_TRUE(layered->Store(other, {"mine"}).ok());

  EXPECT_EQ(layered->Find(other)->bytes, "mine");
  const auto count = std::distance(fs::directory_iterator(folder.path() / "kernels"), {});
  EXPECT_EQ(count, 1);
}

TEST(LayeredKernelCache, ADamagedKernelIsAMissAndStaysWhereItIs) {
  const Folder folder;
  Pack(folder.path());
  const fs::path entry = fs::directory_iterator(folder.path())->path();
  std::ofstream(entry, std::ios::binary | std::ios::app) << "more";
  const auto layered = Over(folder.path());
  ASSERT_NE(layered, nullptr);

  EXPECT_FALSE(layered->Find(kRecipe).has_value());

  EXPECT_EQ(layered->counters().corrupt, 1);
  EXPECT_TRUE(fs::exists(entry));
}

TEST(LayeredKernelCache, AFolderOrAKernelThatOthersMayWriteIsNotUsed) {
  const Folder folder;
  Pack(folder.path());
  const fs::path entry = fs::directory_iterator(folder.path())->path();
  const auto layered = Over(folder.path());
  ASSERT_NE(layered, nullptr);

  fs::permissions(entry, fs::perms::others_write, fs::perm_options::add);
  EXPECT_FALSE(layered->Find(kRecipe).has_value());
  fs::permissions(entry, fs::perms::others_write, fs::perm_options::remove);
  EXPECT_TRUE(layered->Find(kRecipe).has_value());
  fs::permissions(folder.path(), fs::perms::group_write, fs::perm_options::add);
  EXPECT_EQ(PackagedKernels::Open(folder.path(), AnyEntry).status().code(),
            StatusCode::kUnavailable);
  EXPECT_EQ(PackagedKernels::Open(folder.path() / "none", AnyEntry).status().code(),
            StatusCode::kNotFound);
}

TEST(LayeredKernelCache, AFolderThatIsNotUsedSaysWhyAndWhatToDo) {
  const Folder folder;
  const fs::path kernels = folder.path() / "kernels";
  Pack(kernels);
  const auto message = [](const fs::path& path) {
    return PackagedKernels::Open(path, AnyEntry).status().message();
  };

  fs::create_directory_symlink(kernels, folder.path() / "link");
  EXPECT_THAT(message(folder.path() / "link"), HasSubstr("put the folder itself there"));
  EXPECT_THAT(message(folder.path() / "link/"), HasSubstr("put the folder itself there"));
  const fs::path entry = fs::directory_iterator(kernels)->path();
  EXPECT_THAT(message(entry), HasSubstr("it is no folder; put one in its place"));
  fs::permissions(kernels, fs::perms::others_write, fs::perm_options::add);
  EXPECT_THAT(message(kernels), HasSubstr("run chmod go-w on it"));
  fs::permissions(kernels, fs::perms::others_write, fs::perm_options::remove);
  if (::geteuid() != 0) GTEST_SKIP() << "Only the superuser gives folders away.";
  ASSERT_EQ(::chown(kernels.c_str(), 12345, 12345), 0);
  EXPECT_THAT(message(kernels), AllOf(HasSubstr("belongs to user 12345"),
                                      HasSubstr("have it installed by the superuser")));
}

TEST(LayeredKernelCache, ALinkOrAPipeIsNoKernelAndNobodyWaitsForIt) {
  const Folder folder;
  Pack(folder.path() / "kernels");
  const fs::path entry = fs::directory_iterator(folder.path() / "kernels")->path();
  const fs::path elsewhere = folder.path() / "elsewhere";
  const auto layered = Over(folder.path() / "kernels");
  ASSERT_NE(layered, nullptr);

  fs::rename(entry, elsewhere);
  fs::create_symlink(elsewhere, entry);
  EXPECT_FALSE(layered->Find(kRecipe).has_value());
  fs::remove(entry);
  ASSERT_EQ(::mkfifo(entry.c_str(), 0600), 0);
  EXPECT_FALSE(layered->Find(kRecipe).has_value());
  fs::remove(entry);
  fs::rename(elsewhere, entry);
  EXPECT_TRUE(layered->Find(kRecipe).has_value());
}

// A file that is exchanged all the time is read as one that was trusted, or not at all: between
// the look at the name and the read of it, content that others may write used to slip in.
TEST(LayeredKernelCache, WhatWasExaminedIsWhatIsRead) {
  const Folder folder;
  Pack(folder.path() / "kernels");
  const fs::path entry = fs::directory_iterator(folder.path() / "kernels")->path();
  const fs::path trusted = folder.path() / "trusted";
  const fs::path foreign = folder.path() / "foreign";
  fs::copy_file(entry, trusted);
  std::ofstream(foreign) << "foreign";
  fs::permissions(foreign, fs::perms::others_write, fs::perm_options::add);
  std::atomic<int> foreign_reads = 0;
  const auto package =
      PackagedKernels::Open(folder.path() / "kernels", [&](const auto&, std::string_view content) {
        foreign_reads += content == "foreign" ? 1 : 0;
        return true;
      });
  ASSERT_TRUE(package.ok());

  std::jthread exchanging([&](const std::stop_token& stop) {
    const fs::path next = folder.path() / "next";
    for (bool is_foreign = true; !stop.stop_requested(); is_foreign = !is_foreign) {
      fs::remove(next);
      fs::create_hard_link(is_foreign ? foreign : trusted, next);
      fs::rename(next, entry);
    }
  });
  for (int i = 0; i < 20'000; ++i) (*package)->Find(kRecipe);
  exchanging.request_stop();

  EXPECT_EQ(foreign_reads, 0);
}

// Counts its calls.
class CountingCache final : public KernelCache {
 public:
  explicit CountingCache(int& finds) : finds_(finds) {}
  std::optional<Artifact> Find(const BuildRecipe& recipe) override {
    ++finds_;
    return kernels_.Find(recipe);
  }
  Status Store(const BuildRecipe& recipe, const Artifact& artifact) override {
    return kernels_.Store(recipe, artifact);
  }
  BuildTurn AwaitTurn(const BuildRecipe&) override { return {}; }
  KernelCacheCounters counters() const override { return kernels_.counters(); }

 private:
  int& finds_;
  MemoryKernelCache kernels_;
};

BuildRecipe Numbered(int number) { return {"source " + std::to_string(number), "", "c", "t"}; }

TEST(RecentKernelCacheTest, WhatWasFoundOrStoredIsNotAskedForAgain) {
  int finds = 0;
  RecentKernelCache cache(std::make_unique<CountingCache>(finds));

  EXPECT_FALSE(cache.Find(Numbered(1)).has_value());
  ASSERT_TRUE(cache.Store(Numbered(1), {"one"}).ok());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(cache.Find(Numbered(1))->bytes, "one");
  EXPECT_EQ(finds, 1);
  EXPECT_FALSE(cache.Find(Numbered(2)).has_value());
  EXPECT_FALSE(cache.Find(Numbered(2)).has_value());
  EXPECT_EQ(finds, 2);
  EXPECT_EQ(cache.counters().hits, 3);
  // The process that had the turn before may have compiled it.
  cache.AwaitTurn(Numbered(2));
  EXPECT_FALSE(cache.Find(Numbered(2)).has_value());
  EXPECT_EQ(finds, 3);
}

TEST(RecentKernelCacheTest, TheOldestGoFirst) {
  int finds = 0;
  RecentKernelCache cache(std::make_unique<CountingCache>(finds), 10);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(cache.Store(Numbered(i), {"12345"}).ok());

  EXPECT_EQ(cache.Find(Numbered(2))->bytes, "12345");
  EXPECT_EQ(cache.Find(Numbered(1))->bytes, "12345");
  EXPECT_EQ(finds, 0);
  EXPECT_EQ(cache.Find(Numbered(0))->bytes, "12345");
  EXPECT_EQ(finds, 1);
  EXPECT_EQ(cache.Find(Numbered(2))->bytes, "12345");
  EXPECT_EQ(finds, 2);
}

TEST(RecentKernelCacheTest, AnEntryAboveTheLimitStaysUntilTheNext) {
  int finds = 0;
  RecentKernelCache cache(std::make_unique<CountingCache>(finds), 4);
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(cache.Store(Numbered(i), {"12345"}).ok());

  EXPECT_TRUE(cache.Has(Numbered(1)));
  EXPECT_EQ(cache.Find(Numbered(1))->bytes, "12345");
  EXPECT_EQ(finds, 0);
  EXPECT_TRUE(cache.Has(Numbered(0)));
  EXPECT_EQ(finds, 1);
}

}  // namespace
}  // namespace attune
