#include "attune/base/stack_room.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <functional>
#include <vector>

#include <gtest/gtest.h>

namespace attune {
namespace {

// The result of `ask` in a thread with that stack size.
bool InThread(size_t stack_bytes, bool (*ask)()) {
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setstacksize(&attributes, stack_bytes);
  pthread_t thread;
  const int error = ::pthread_create(
      &thread, &attributes,
      [](void* asked) -> void* { return reinterpret_cast<bool (*)()>(asked)() ? asked : nullptr; },
      reinterpret_cast<void*>(ask));
  ::pthread_attr_destroy(&attributes);
  EXPECT_EQ(error, 0);
  void* answer = nullptr;
  ::pthread_join(thread, &answer);
  return answer != nullptr;
}

// A function with its own frame below those of its callers.
[[gnu::noinline]] bool Ask() { return HasAmpleStack(); }

bool answer_of_other_stack = false;

bool AskOnOtherStack() {
  static ucontext_t here, there;
  std::vector<char> stack(4 * kCallStackBytes);
  ::getcontext(&there);
  there.uc_stack.ss_sp = stack.data();
  there.uc_stack.ss_size = stack.size();
  there.uc_link = &here;
  ::makecontext(
      &there, [] { answer_of_other_stack = HasAmpleStack(); }, 0);
  ::swapcontext(&here, &there);
  return answer_of_other_stack;
}

bool AskInSignal() {
  std::vector<char> memory(256 << 10);
  stack_t stack{};
  stack.ss_sp = memory.data();
  stack.ss_size = memory.size();
  ::sigaltstack(&stack, nullptr);
  struct sigaction action {};
  action.sa_handler = [](int) { answer_of_other_stack = HasAmpleStack(); };
  action.sa_flags = SA_ONSTACK;
  ::sigaction(SIGUSR1, &action, nullptr);
  ::raise(SIGUSR1);
  stack.ss_flags = SS_DISABLE;
  ::sigaltstack(&stack, nullptr);
  return answer_of_other_stack;
}

bool AskAfterUsing(size_t bytes) {
  volatile char* used = static_cast<volatile char*>(__builtin_alloca(bytes));
  used[0] = 1;
  const bool answer = Ask();
  used[0] = 2;
  return answer;
}

TEST(StackRoomTest, TheMainThreadHasEnough) { EXPECT_TRUE(HasAmpleStack()); }

TEST(StackRoomTest, AThreadHasEnoughIfItsStackIsLargerThanACallTakes) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer takes a part of each stack.";
#endif
  EXPECT_FALSE(InThread(128 << 10, Ask));
  EXPECT_FALSE(InThread(kCallStackBytes, Ask));
  EXPECT_TRUE(InThread(2 * kCallStackBytes, Ask));
}

TEST(StackRoomTest, WhatCallersUseIsGone) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer takes a part of each stack.";
#endif
  EXPECT_TRUE(InThread(3 * kCallStackBytes, [] { return AskAfterUsing(kCallStackBytes); }));
  EXPECT_FALSE(InThread(3 * kCallStackBytes, [] { return AskAfterUsing(2 * kCallStackBytes); }));
}

TEST(StackRoomTest, NoOtherStackIsTrusted) {
  EXPECT_FALSE(AskOnOtherStack());
  EXPECT_FALSE(InThread(8 * kCallStackBytes, AskOnOtherStack));
  EXPECT_FALSE(AskInSignal());
  EXPECT_TRUE(HasAmpleStack());
}

}  // namespace
}  // namespace attune
