#include "attune/base/kept_objects.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

namespace attune {
namespace {

// Constructs a static object of the library that is called as one of LLVM's, and exits. The
// object's destructor ends the process with 3.
enum class Kept { kNo, kYes, kLoadedBefore };
[[noreturn]] void UseAndExit(Kept kept) {
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe");
  const std::filesystem::path file = program.parent_path() / "libLLVM_for_tests.so";
  const LibrariesBefore before;
  void* const library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) std::_Exit(4);
  if (kept == Kept::kYes) before.KeepObjectsOfNewOnes();
  if (kept == Kept::kLoadedBefore) LibrariesBefore().KeepObjectsOfNewOnes();
  const auto construct = reinterpret_cast<void (*)()>(::dlsym(library, "attune_test_construct"));
  construct();
  std::exit(0);
}

TEST(KeptObjectsTest, AnExitDestroysNothingThatALibraryConstructsLater) {
  EXPECT_EXIT(UseAndExit(Kept::kYes), testing::ExitedWithCode(0), "");
}

TEST(KeptObjectsTest, OtherwiseItWould) {
  EXPECT_EXIT(UseAndExit(Kept::kNo), testing::ExitedWithCode(3), "");
}

TEST(KeptObjectsTest, ALibraryThatTheProgramUsesIsLeftAlone) {
  EXPECT_EXIT(UseAndExit(Kept::kLoadedBefore), testing::ExitedWithCode(3), "");
}

}  // namespace
}  // namespace attune
