#include "attune/runtime/tuner_environment.h"

#include <cstdlib>
#include <cstring>

#include <gtest/gtest.h>

namespace attune {
namespace {

const char* ValueIn(TunerEnvironment& environment, const char* name) {
  const size_t length = std::strlen(name);
  for (char** entry = environment.pointers(); *entry != nullptr; ++entry) {
    if (std::strncmp(*entry, name, length) == 0 && (*entry)[length] == '=') {
      return *entry + length + 1;
    }
  }
  return nullptr;
}

TEST(TunerEnvironment, OurPreloadIsTakenOutAndTheOthersStay) {
  EXPECT_EQ(WithoutOurPreload("/usr/lib/libattune_blas.so"), "");
  EXPECT_EQ(WithoutOurPreload("liba.so:/x/libattune_blas.so libb.so"), "liba.so:libb.so");
  EXPECT_EQ(WithoutOurPreload("/x/libattune_blas.so.1:liba.so"), "liba.so");
  EXPECT_EQ(WithoutOurPreload("/x/libattune_cublas.so:liba.so:/x/libattune_blas.so"), "liba.so");
  EXPECT_EQ(WithoutOurPreload(""), "");
}

TEST(TunerEnvironment, EverythingElseIsPassedOn) {
  ::setenv("ATTUNE_TEST_VARIABLE", "a=b c", 1);
  ::setenv("LD_PRELOAD", "/x/libattune_blas.so", 1);
  TunerEnvironment environment;
  ::unsetenv("LD_PRELOAD");
  ASSERT_NE(ValueIn(environment, "ATTUNE_TEST_VARIABLE"), nullptr);
  EXPECT_STREQ(ValueIn(environment, "ATTUNE_TEST_VARIABLE"), "a=b c");
  EXPECT_EQ(ValueIn(environment, "LD_PRELOAD"), nullptr);
}

}  // namespace
}  // namespace attune
