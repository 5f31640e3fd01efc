#include "attune/base/import_check.h"

#include <dlfcn.h>

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/loaded_object.h"

namespace attune {
namespace {

using ::testing::EndsWith;

uintptr_t AddressIn(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

// Sanitizers define qsort(), too.
const void* QsortOfTheCLibrary() {
  return ::dlsym(::dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD), "qsort");
}

TEST(LoadedObjectTest, AtFindsTheObjectOfAnAddress) {
  const LoadedObject own = LoadedObject::At(reinterpret_cast<const void*>(&AddressIn));
  const LoadedObject c_library = LoadedObject::At(QsortOfTheCLibrary());

  EXPECT_THAT(own.path(), EndsWith("/attune_base_test"));
  EXPECT_EQ(own.soname(), "");
  EXPECT_EQ(c_library.soname(), "libc.so.6");
  EXPECT_TRUE(own.Needs("libc.so.6"));
  EXPECT_FALSE(own.Needs("libc.so"));
  EXPECT_TRUE(LoadedObject::At(nullptr).empty());
}

TEST(LoadedObjectTest, FindsDefinedSymbolsOnly) {
  const LoadedObject c_library = LoadedObject::At(QsortOfTheCLibrary());

  const auto* symbol = c_library.Find("qsort");

  ASSERT_NE(symbol, nullptr);
  EXPECT_EQ(c_library.AddressOf(*symbol), QsortOfTheCLibrary());
  EXPECT_EQ(c_library.Find("no_such_name_of_anything"), nullptr);
  EXPECT_EQ(LoadedObject().Find("qsort"), nullptr);
}

TEST(LoadedObjectTest, BindingsOfThisProgramReachTheCLibrary) {
  const LoadedObject own = LoadedObject::At(reinterpret_cast<const void*>(&AddressIn));
  bool is_found = false;

  own.VisitBindings([&](const Binding& binding) {
    is_found = std::string_view(binding.name) == "dl_iterate_phdr";
    return is_found;
  });

  EXPECT_TRUE(is_found);
}

TEST(LoadedObjectTest, AllHasEachObjectOnce) {
  const auto all = LoadedObject::All();
  const auto has_qsort = [](const LoadedObject& object) {
    return object.contains(AddressIn(QsortOfTheCLibrary()));
  };

  EXPECT_EQ(std::count_if(all.begin(), all.end(), has_qsort), 1);
}

// tests/guests has programs that do not pass.
TEST(ImportCheckTest, AProgramWithoutSuchNamesPasses) {
  EXPECT_EQ(CheckOwnImports(), Status::Ok());
  EXPECT_EQ(CheckImports(QsortOfTheCLibrary()), Status::Ok());
}

}  // namespace
}  // namespace attune
