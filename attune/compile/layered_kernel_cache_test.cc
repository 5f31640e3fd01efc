#include "attune/compile/layered_kernel_cache.h"

#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "attune/compile/builder.h"
#include "attune/compile/counting_solver.h"

namespace attune {
namespace {

namespace fs = std::filesystem;

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

}  // namespace
}  // namespace attune
