#include "attune/kernel/included_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/file.h"
#include "attune/base/scratch_folder.h"

namespace attune::kernel {
namespace {

using testing::HasSubstr;
using testing::Not;

class IncludedFilesTest : public testing::Test {
 protected:
  void Write(const std::string& name, const std::string& text) {
    const auto path = folder_->path() / name;
    std::filesystem::create_directories(path.parent_path());
    ASSERT_TRUE(WriteFileAtomically(path, text).ok());
  }
  std::string TextsOf(const std::string& source, const std::vector<std::string>& options = {}) {
    return FindIncludedFiles(source, folder_->path(), options)->texts;
  }
  std::string Folder(const std::string& name) { return (folder_->path() / name).string(); }

  const std::unique_ptr<ScratchFolder> folder_ = *ScratchFolder::Make("included");
};

TEST_F(IncludedFilesTest, AreThoseBesideTheSourceAndThoseThatTheyInclude) {
  Write("a.h", "of a\n#include \"deep/b.h\"\n");
  Write("deep/b.h", "of b\n # include <c.h>\n#include \"../a.h\"\n");
  Write("deep/c.h", "of c\n");
  Write("other.h", "of other\n");

  const std::string texts = TextsOf("#include \"a.h\"\n// include other.h\n#include <none.h>\n");

  EXPECT_THAT(texts, HasSubstr("of a"));
  EXPECT_THAT(texts, HasSubstr("of b"));
  EXPECT_THAT(texts, HasSubstr("of c"));
  EXPECT_THAT(texts, Not(HasSubstr("of other")));
  EXPECT_EQ(texts.find("of a"), texts.rfind("of a"));
}

TEST_F(IncludedFilesTest, AreAlsoInTheFoldersOfTheOptions) {
  Write("lib/a.h", "of a\n");

  EXPECT_EQ(TextsOf("#include \"a.h\"\n"), "");
  EXPECT_EQ(TextsOf("#include \"a.h\"\n", {"-DX", "-I" + Folder("lib")}), "of a\n");
}

TEST_F(IncludedFilesTest, WhatIsNoFileOrNoNameCountsForNothing) {
  Write("folder/a.h", "of a\n");

  EXPECT_EQ(TextsOf("#include \"folder\"\n#include\n#include \"\n#include X\n#"), "");
  EXPECT_EQ(TextsOf(""), "");
}

TEST_F(IncludedFilesTest, MoreThanAreFollowedAreAnError) {
  std::string source;
  for (size_t i = 0; i <= kMaxIncludedFiles; ++i) {
    Write(std::to_string(i) + ".h", "");
    source += "#include \"" + std::to_string(i) + ".h\"\n";
  }

  const auto included = FindIncludedFiles(source, folder_->path(), {});

  EXPECT_THAT(included.status().message(), HasSubstr("more than 1000 files"));
}

}  // namespace
}  // namespace attune::kernel
