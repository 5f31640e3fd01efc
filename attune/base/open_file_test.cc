#include "attune/base/open_file.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include <gtest/gtest.h>

namespace attune {
namespace {

// In a process of its own, which closes what a test needs.
int StatusWithoutStandardDescriptors(int (*run)()) {
  const pid_t child = ::fork();
  if (child == 0) {
    for (int fd = 0; fd < 3; ++fd) ::close(fd);
    ::_exit(run());
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(OpenFileTest, AFileIsNoStandardDescriptorOfAProgramThatHasClosedThem) {
  const int status = StatusWithoutStandardDescriptors([] {
    const UniqueFd file = OpenFile("/dev/null", O_RDWR);
    const bool are_free = ::fcntl(0, F_GETFD) < 0 && ::fcntl(1, F_GETFD) < 0;
    const bool is_closed_by_exec = ::fcntl(file.get(), F_GETFD) == FD_CLOEXEC;
    return file.get() >= 3 && are_free && is_closed_by_exec ? 0 : 1;
  });

  EXPECT_EQ(status, 0);
}

TEST(OpenFileTest, AFailureKeepsItsReason) {
  const UniqueFd file = OpenFile("/nonexistent/file", O_RDONLY);

  EXPECT_EQ(errno, ENOENT);
  EXPECT_FALSE(file.valid());
}

class UniqueFdTest : public ::testing::Test {
 protected:
  void SetUp() override {
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    ours_ = UniqueFd(ends[0]);
    number_ = ends[0];
    other_ = UniqueFd(ends[1]);
  }

  UniqueFd ours_;
  int number_ = -1;
  UniqueFd other_;
};

TEST_F(UniqueFdTest, IsOursUntilItIsClosed) {
  EXPECT_TRUE(ours_.is_ours());
  UniqueFd moved = std::move(ours_);
  EXPECT_TRUE(moved.is_ours());
  EXPECT_FALSE(ours_.is_ours());

  moved.Reset();

  EXPECT_FALSE(moved.is_ours());
  EXPECT_LT(::fcntl(number_, F_GETFD), 0);
}

TEST_F(UniqueFdTest, IsNotOursOnceTheProgramHasClosedIt) {
  ::close(number_);

  EXPECT_FALSE(ours_.is_ours());
  EXPECT_EQ(ours_.get_if_ours(), -1);
}

TEST_F(UniqueFdTest, WhatTheProgramHasPutInItsPlaceStaysOpen) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  ASSERT_EQ(::dup2(ends[0], number_), number_);

  EXPECT_FALSE(ours_.is_ours());
  ours_.Reset();

  EXPECT_EQ(::fcntl(number_, F_GETFD), 0);
  for (const int fd : {number_, ends[0], ends[1]}) ::close(fd);
}

}  // namespace
}  // namespace attune
