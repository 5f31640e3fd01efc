#include "attune/base/captured_output.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <thread>

#include <gtest/gtest.h>

namespace attune {
namespace {

void WriteDirectly(const std::string& text) {
  ASSERT_EQ(::write(STDOUT_FILENO, text.data(), text.size()), static_cast<ssize_t>(text.size()));
}

TEST(CaptureOutputTest, CatchesWhatIsWrittenMeanwhileAndNothingElse) {
  std::string outer_inner;
  const auto outer = CaptureOutput([&] {
    (void)std::fputs("before ", stdout);
    const auto inner = CaptureOutput([] {
      (void)std::fputs("streamed ", stdout);
      (void)std::fflush(stdout);
      WriteDirectly("direct ");
      (void)std::fputs("buffered", stdout);
      return Status::Ok();
    });
    outer_inner = inner.ok() ? *inner : inner.error().message();
    WriteDirectly("after");
    return Status::Ok();
  });

  ASSERT_TRUE(outer.ok()) << outer.error().message();
  EXPECT_EQ(outer_inner, "streamed direct buffered");
  EXPECT_EQ(*outer, "before after");
}

TEST(CaptureOutputTest, WhatThreadsWriteAtTheSameTimeIsAllThere) {
  constexpr int kWrites = 5000;
  const auto write_many = [](char letter) {
    for (int i = 0; i < kWrites; ++i) WriteDirectly(std::string(20, letter));
  };

  const auto all = CaptureOutput([&] {
    std::thread other(write_many, 'b');
    write_many('a');
    other.join();
    return Status::Ok();
  });

  EXPECT_EQ(std::count(all->begin(), all->end(), 'a'), 20 * kWrites);
  EXPECT_EQ(std::count(all->begin(), all->end(), 'b'), 20 * kWrites);
}

TEST(CaptureOutputTest, TheErrorOfTheWorkIsKeptAndTheOutputLeadsBack) {
  const auto outer = CaptureOutput([] {
    const auto failed = CaptureOutput([] { return Unavailable("It broke."); });
    EXPECT_EQ(failed.status().message(), "It broke.");
    WriteDirectly("back");
    return Status::Ok();
  });

  EXPECT_EQ(outer.value(), "back");
}

TEST(CaptureOutputTest, MoreThanCanBeReadIsNoText) {
  const auto all = CaptureOutput([] {
    WriteDirectly(std::string(kMaxCapturedBytes, 'x'));
    return Status::Ok();
  });
  const auto too_much = CaptureOutput([] {
    WriteDirectly(std::string(kMaxCapturedBytes + 1, 'x'));
    return Status::Ok();
  });

  EXPECT_EQ(all.value().size(), kMaxCapturedBytes);
  EXPECT_EQ(too_much.status().code(), StatusCode::kResourceExhausted);
}

// Memory holds the output, and a kernel may print without end.
TEST(CaptureOutputTest, OfWhatIsPrintedWithoutEndSoonNoMoreIsKept) {
  constexpr int kMostMiB = 1024;
  int written_mib = 0;
  const auto all = CaptureOutput([&] {
    struct stat status {};
    while (written_mib < kMostMiB && ::fstat(STDOUT_FILENO, &status) == 0 &&
           S_ISREG(status.st_mode)) {
      WriteDirectly(std::string(1 << 20, 'x'));
      ++written_mib;
      std::this_thread::yield();
    }
    return Status::Ok();
  });

  EXPECT_EQ(all.status().code(), StatusCode::kResourceExhausted);
  EXPECT_LT(written_mib, kMostMiB);
}

}  // namespace
}  // namespace attune
