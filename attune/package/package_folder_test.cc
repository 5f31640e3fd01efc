#include "attune/package/package_folder.h"

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
    const auto sealed = SealPackage(folder_, {"0.1.0", "now", "cpu:x", {}});
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
  EXPECT_EQ(OpenPackage({folder_, ""})->files.size(), 2u);
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

TEST_F(PackageFolder, AnotherPackageThanThePinnedOneIsNotOpened) {
  EXPECT_EQ(OpenPackage({folder_, std::string(64, '0')}).status().code(),
            StatusCode::kFailedPrecondition);
  EXPECT_EQ(OpenPackage({folder_ / "none", ""}).status().code(), StatusCode::kNotFound);
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
