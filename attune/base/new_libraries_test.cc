#include "attune/base/new_libraries.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

namespace attune {
namespace {

enum class Kept { kNo, kYes, kLoadedBefore };

// Constructs a static object of a library that has the name of LLVM's, and exits. The object's
// destructor ends the process with 3 (test_static_object.cc).
[[noreturn]] void UseAndExit(Kept kept) {
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe");
  const std::filesystem::path file = program.parent_path() / "libLLVM_for_tests.so";
  const NewLibraries libraries;
  void* const library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) std::_Exit(4);
  if (kept == Kept::kYes) libraries.KeepStaticObjects();
  if (kept == Kept::kLoadedBefore) NewLibraries().KeepStaticObjects();
  const auto construct = reinterpret_cast<void (*)()>(::dlsym(library, "attune_test_construct"));
  construct();
  std::exit(0);
}

TEST(NewLibrariesTest, AnExitDestroysNoKeptObject) {
  EXPECT_EXIT(UseAndExit(Kept::kYes), testing::ExitedWithCode(0), "");
}

TEST(NewLibrariesTest, AnExitDestroysStaticObjectsThatAreNotKept) {
  EXPECT_EXIT(UseAndExit(Kept::kNo), testing::ExitedWithCode(3), "");
}

TEST(NewLibrariesTest, ALibraryThatTheProgramUsesIsLeftAlone) {
  EXPECT_EXIT(UseAndExit(Kept::kLoadedBefore), testing::ExitedWithCode(3), "");
}

}  // namespace
}  // namespace attune
