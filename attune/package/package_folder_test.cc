#include "attune/package/package_folder.h"

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/compile/kernel_cache.h"
#include "attune/index/index_writer.h"
#include "attune/record/memory_store.h"

namespace attune {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

class PackageFolder : public testing::Test {
 protected:
  PackageFolder() {
    std::string name = (fs::temp_directory_path() / "attune-package-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    fs::create_directory(folder_ / "kernels");
    Write("index", "an index");
    Write("kernels/1.kernel", "a kernel");
    const auto sealed = SealPackage(folder_, {"0.1.0", "now", "cpu:x", {}, {}, {}});
    hash_ = sealed.ok() ? *sealed : "";
  }
  ~PackageFolder() override { fs::remove_all(folder_); }

  void Write(const char* path, const std::string& content) {
    std::ofstream(folder_ / path, std::ios::binary) << content;
  }

  fs::path folder_;
  std::string hash_;
};

TEST_F(PackageFolder, ASealedPackageIsWhatItSays) {
  ASSERT_EQ(hash_.size(), 64u);

  EXPECT_EQ(VerifyPackage({folder_, hash_}), Status::Ok());
  EXPECT_EQ(ReadManifest({folder_, ""})->files.size(), 2u);
}

TEST_F(PackageFolder, EveryChangeIsFoundByName) {
  Write("kernels/1.kernel", "b kernel");
  EXPECT_THAT(VerifyPackage({folder_, hash_}).message(), HasSubstr("kernels/1.kernel"));
  Write("kernels/1.kernel", "a kernel");
  Write("kernels/2.kernel", "another");
  EXPECT_THAT(VerifyPackage({folder_, hash_}).message(), HasSubstr("not in its manifest"));
  fs::remove(folder_ / "kernels/2.kernel");
  fs::remove(folder_ / "index");
  EXPECT_EQ(VerifyPackage({folder_, hash_}).code(), StatusCode::kDataLoss);
}

TEST_F(PackageFolder, EverythingThatIsWrongIsNamedAtOnce) {
  Write("kernels/1.kernel", "b kernel");
  Write("kernels/2.kernel", "another");
  Write("readme", "not of the package");
  fs::remove(folder_ / "index");

  const auto wrong = CheckFiles({folder_, hash_});

  ASSERT_TRUE(wrong.ok()) << wrong.status().message();
  ASSERT_EQ(wrong->size(), 4u);
  EXPECT_EQ((*wrong)[0].fault, WrongFile::Fault::kMissing);
  EXPECT_EQ((*wrong)[0].path, "index");
  EXPECT_EQ((*wrong)[1].fault, WrongFile::Fault::kDamaged);
  EXPECT_EQ((*wrong)[1].path, "kernels/1.kernel");
  EXPECT_EQ((*wrong)[2].fault, WrongFile::Fault::kNotInManifest);
  EXPECT_EQ((*wrong)[2].path, "kernels/2.kernel");
  EXPECT_EQ((*wrong)[3].path, "readme");
  const std::string all = VerifyPackage({folder_, hash_}).message();
  for (const WrongFile& file : *wrong) EXPECT_THAT(all, HasSubstr(file.sentence));
}

TEST_F(PackageFolder, AnotherPackageThanThePinnedOneIsNotOpened) {
  EXPECT_EQ(ReadManifest({folder_, std::string(64, '0')}).status().code(),
            StatusCode::kFailedPrecondition);
  EXPECT_EQ(ReadManifest({folder_ / "none", ""}).status().code(), StatusCode::kNotFound);
}

// A package in use: one with an index of nothing, and one kernel.
class UsedPackage : public testing::Test {
 protected:
  UsedPackage() {
    std::string name = (fs::temp_directory_path() / "attune-used-package-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~UsedPackage() override { fs::remove_all(folder_); }

  // Seals the package `name`, whose kernel holds `payload`.
  PackageReference Make(const char* name, const std::string& payload) {
    const fs::path folder = folder_ / name;
    fs::create_directories(folder);
    MemoryStore nothing;
    EXPECT_TRUE(RefreshIndex(nothing, folder / "index", {}).ok());
    auto kernels = FolderKernelCache::Open(folder / "kernels");
    EXPECT_TRUE(kernels.ok() && (*kernels)->Store(kRecipe, {payload}).ok());
    const auto sealed = SealPackage(folder, {"0.1.0", "now", "cpu:x", {}, {}, {}});
    return {folder, sealed.ok() ? *sealed : ""};
  }

  Result<OpenedPackage> Open(const PackageReference& reference) {
    return OpenPackage(reference, [this](const Status& status) { refused_ = status.message(); });
  }

  // Puts the file of one package in the place of the other one's, as sound as it was.
  static void Swap(const PackageReference& from, const PackageReference& to, const char* path) {
    fs::copy_file(from.folder / path, to.folder / path, fs::copy_options::overwrite_existing);
  }

  const BuildRecipe kRecipe = {"source", "-O2", "compiler 1", "device"};
  fs::path folder_;
  std::string refused_;
};

TEST_F(UsedPackage, ServesItsIndexAndItsKernels) {
  const auto package = Open(Make("a", "binary"));

  ASSERT_TRUE(package.ok()) << package.status().message();
  EXPECT_EQ(package->index->problem_count(), 0);
  EXPECT_EQ(package->kernels->Find(kRecipe)->bytes, "binary");
  EXPECT_EQ(refused_, "");
}

TEST_F(UsedPackage, TheIndexOfAnotherPackageIsNotServedPinnedOrNot) {
  const PackageReference package = Make("a", "binary");
  Swap(Make("b", "binary"), package, "index");

  for (const auto& reference : {package, PackageReference{package.folder, ""}}) {
    const auto opened = Open(reference);
    EXPECT_EQ(opened.status().code(), StatusCode::kDataLoss);
    EXPECT_THAT(opened.status().message(), HasSubstr("'index'"));
  }
}

TEST_F(UsedPackage, TheKernelOfAnotherPackageIsNotLoaded) {
  const PackageReference package = Make("a", "binary");
  const std::string kernel = fmt::format(
      "kernels/{}", fs::directory_iterator(package.folder / "kernels")->path().filename().string());
  Swap(Make("b", "brutal"), package, kernel.c_str());
  const auto opened = Open(package);
  ASSERT_TRUE(opened.ok());

  const auto found = opened->kernels->Find(kRecipe);

  EXPECT_FALSE(found.has_value()) << found->bytes;
  EXPECT_THAT(refused_, HasSubstr(kernel));
}

TEST_F(UsedPackage, AKernelThatWasAddedIsNotLoaded) {
  const PackageReference package = Make("a", "binary");
  const BuildRecipe other = {"other", "", "", ""};
  const auto opened = Open(package);
  ASSERT_TRUE(opened.ok());
  {
    auto kernels = FolderKernelCache::Open(package.folder / "kernels");
    ASSERT_TRUE(kernels.ok() && (*kernels)->Store(other, {"foreign"}).ok());
  }

  EXPECT_FALSE(opened->kernels->Find(other).has_value());

  EXPECT_THAT(refused_, HasSubstr("not in its manifest"));
}

TEST(ParsePackages, ReadsFoldersWithAndWithoutAHash) {
  const std::string hash(64, 'a');
  const auto packages = ParsePackages("/a::/b#sha256=" + hash);

  ASSERT_TRUE(packages.ok());
  EXPECT_THAT(*packages, ElementsAre(PackageReference{"/a", ""}, PackageReference{"/b", hash}));
  EXPECT_EQ(ParsePackages("/a#sha256=12").status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace attune
