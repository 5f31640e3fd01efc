#include "attune/index/package_folder.h"

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

TEST_F(PackageFolder, APackageThatNamesNoIndexIsNotWhole) {
  fs::remove(folder_ / "index");
  fs::remove(folder_ / "manifest.json");
  ASSERT_TRUE(SealPackage(folder_, {"0.1.0", "now", "cpu:x", {}, {}, {}}).ok());

  const auto wrong = CheckFiles({folder_, ""});

  ASSERT_TRUE(wrong.ok()) << wrong.status().message();
  ASSERT_EQ(wrong->size(), 1u);
  EXPECT_EQ(wrong->front().fault, WrongFile::Fault::kMissing);
  EXPECT_EQ(wrong->front().path, "index");
  EXPECT_EQ(VerifyPackage({folder_, ""}).code(), StatusCode::kDataLoss);
}

TEST_F(PackageFolder, TheBytesThatNameAPackageAreThoseThatWereRead) {
  std::ifstream made(folder_ / "manifest.json");
  std::string text((std::istreambuf_iterator<char>(made)), {});
  text.insert(1, " \"key of a later program\": 1,");
  Write("manifest.json", text);

  const auto read = ReadManifestFile({folder_, Sha256Hex(text)});

  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->text, text);
  EXPECT_EQ(read->manifest.target, "cpu:x");
}

class PackedIndex : public testing::Test {
 protected:
  PackedIndex() {
    std::string name = (fs::temp_directory_path() / "attune-packed-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    for (int64_t m : {8, 16, 24}) {
      const Problem problem = ProblemOf(m);
      EXPECT_TRUE(store_.AddProblems(m == 24 ? "other" : "net", {{{problem, 1}}}).ok());
      MeasurementSet set;
      set.id = fmt::format("{:032x}", m);
      set.problem = problem;
      set.target = kTarget;
      set.started_unix_ns = m;
      Trial trial;
      trial.candidate = {{"fake.library", 1}, {}};
      trial.role = TrialRole::kFinal;
      Measurement measurement;
      measurement.samples_ns.assign(30, 1e5);
      measurement.median_ns = measurement.low_ns = measurement.high_ns = 1e5;
      measurement.confidence = 0.99;
      trial.is_default = true;
      trial.outcome = measurement;
      EXPECT_TRUE(store_.BeginSet(set).ok());
      EXPECT_TRUE(store_.Append(set.id, {&trial, 1}).ok());
      EXPECT_TRUE(store_.FinishSet(set.id).ok());
    }
  }
  ~PackedIndex() override { fs::remove_all(folder_); }

  static Problem ProblemOf(int64_t m) {
    return *ParseProblem(fmt::format("gemm@1{{m={},n=8,k=8}}", m));
  }

  // The number of problems; -1 for a failure.
  int64_t Written(const char* name, const PackedProblems& packed) {
    fs::create_directory(folder_ / name);
    const auto written = WritePackagedIndex(store_, packed, kTarget, {}, folder_ / name);
    return written.ok() ? written->problems : -1;
  }

  const Target kTarget{"fake", "x", "", 1, {}};
  MemoryStore store_;
  fs::path folder_;
};

TEST_F(PackedIndex, HasTheProblemsThatWereAskedForAndNoOther) {
  EXPECT_EQ(Written("a", {"", {{ProblemOf(8), ProblemOf(24)}}}), 2);
  EXPECT_EQ(Written("b", {"net", {{ProblemOf(8)}}}), 1);
  EXPECT_EQ(Written("c", {"", std::nullopt}), 3);
  EXPECT_EQ(Written("d", {"", {{ProblemOf(32)}}}), -1);
}

TEST_F(PackageFolder, AnotherPackageThanThePinnedOneIsNotOpened) {
  EXPECT_EQ(ReadManifest({folder_, std::string(64, '0')}).status().code(),
            StatusCode::kFailedPrecondition);
  EXPECT_EQ(ReadManifest({folder_ / "none", ""}).status().code(), StatusCode::kNotFound);
}

// A package in use: one with an empty index, and one kernel.
class UsedPackage : public testing::Test {
 protected:
  UsedPackage() {
    std::string name = (fs::temp_directory_path() / "attune-used-package-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~UsedPackage() override { fs::remove_all(folder_); }

  // Seals the package `name` with a kernel that holds `payload`.
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

  // Replaces a file of one package by the other one's, which is just as valid.
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
