#include "runtime/own_stack.h"

#include <pthread.h>

#include <string>

#include <gtest/gtest.h>

#include "attune/base/stack_room.h"

namespace attune {
namespace {

// Runs `body` in a thread with less stack than a call takes.
void OnSmallStack(void* (*body)(void*), void* argument) {
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setstacksize(&attributes, 64 << 10);
  pthread_t thread;
  ASSERT_EQ(::pthread_create(&thread, &attributes, body, argument), 0);
  ::pthread_join(thread, nullptr);
  ::pthread_attr_destroy(&attributes);
}

struct Seen {
  bool before = true;
  bool within = false;
  bool after = true;
  pthread_t outside{};
  pthread_t inside{};
};

void* LookAtStacks(void* argument) {
  auto* seen = static_cast<Seen*>(argument);
  seen->before = HasAmpleStack();
  seen->outside = ::pthread_self();
  const bool has_run = OnOwnStack(
      [seen] {
        // Larger than the stack of the thread.
        volatile char used[128 << 10];
        used[0] = 1;
        used[sizeof used - 1] = 1;
        seen->within = HasAmpleStack() && used[0] == 1;
        seen->inside = ::pthread_self();
        return true;
      },
      [] { return false; });
  EXPECT_TRUE(has_run);
  seen->after = HasAmpleStack();
  return nullptr;
}

TEST(OwnStackTest, HasRoomAndIsLeftAgain) {
  Seen seen;
  for (int i = 0; i < 3; ++i) OnSmallStack(LookAtStacks, &seen);

  EXPECT_FALSE(seen.before);
  EXPECT_TRUE(seen.within);
  EXPECT_FALSE(seen.after);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_TRUE(::pthread_equal(seen.outside, seen.inside));
#endif
}

TEST(OwnStackTest, WhatIsThrownAndCaughtThereIsNoMatter) {
  const std::string caught = OnOwnStack(
      [] {
        try {
          throw std::string("thrown");
        } catch (const std::string& text) {
          return text;
        }
      },
      [] { return std::string("no memory"); });

  EXPECT_EQ(caught, "thrown");
}

TEST(OwnStackTest, OneMayBeginOnAnother) {
  const auto none = [] { return 0; };
  const int result = OnOwnStack([&] { return 1 + OnOwnStack([] { return 1; }, none); }, none);

  EXPECT_EQ(result, 2);
}

}  // namespace
}  // namespace attune
