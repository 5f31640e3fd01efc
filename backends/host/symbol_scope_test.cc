#include "backends/host/symbol_scope.h"

#include <dlfcn.h>

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/host/gemm/blas_library.h"

namespace attune::host {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

bool NoneIsShared(std::string_view) { return false; }

TEST(SymbolScopeTest, FindsWhatTheCLibraryDefinesAndWhere) {
  const Definition found = FindInGlobalScope({"no_such_name_of_anything", "malloc"});

  EXPECT_EQ(found.name, "malloc");
  EXPECT_THAT(found.path, Not(IsEmpty()));
  EXPECT_THAT(FindInGlobalScope({"no_such_name_of_anything"}).name, IsEmpty());
}

TEST(SymbolScopeTest, TheProgramIsNamedByItsPathAndNotByItsFirstArgument) {
  EXPECT_THAT(PathOfObjectAt(reinterpret_cast<const void*>(&NoneIsShared)),
              HasSubstr("/attune_backend_host_test"));
}

TEST(SymbolScopeTest, TwoFunctionsOfOneLibraryAreInOneObject) {
  void* malloc_of_c = ::dlsym(RTLD_DEFAULT, "qsort");
  void* free_of_c = ::dlsym(RTLD_DEFAULT, "bsearch");

  EXPECT_TRUE(AreInOneObject(malloc_of_c, free_of_c));
  EXPECT_FALSE(AreInOneObject(malloc_of_c, reinterpret_cast<const void*>(&NoneIsShared)));
}

// Proves that neither a second copy of a library nor the program takes part in a computation: this
// process has loaded both, and no name of theirs is bound elsewhere.
class LoadedBlasTest : public ::testing::TestWithParam<BlasDialect> {};

TEST_P(LoadedBlasTest, EveryNameOfItsOwnIsBoundToItself) {
  const auto library = BlasLibrary::Open(GetParam());
  if (!library.ok()) GTEST_SKIP() << library.error().message();
  const void* mark = (*library)->object().Find(GetParam().version_symbol);

  const Definition foreign = FindForeignBinding(mark, NoneIsShared);

  EXPECT_THAT(foreign.name, IsEmpty()) << foreign.path;
}

INSTANTIATE_TEST_SUITE_P(Both, LoadedBlasTest, ::testing::Values(OpenBlasDialect(), BlisDialect()),
                         [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace attune::host
