#include "attune/base/call_filter.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include <gtest/gtest.h>

namespace attune {
namespace {

enum Outcome : int { kSeen, kNotSeen, kRefused };

// Installs a filter that allows everything.
Outcome FilterSeen() {
  sock_filter words[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog program = {1, words};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    return kRefused;
  }
  errno = 7;
  return HasNewCallFilter() && errno == 7 ? kSeen : kNotSeen;
}

TEST(CallFilterTest, AFilterThatTheProgramInstallsIsSeen) {
  if (::prctl(PR_GET_SECCOMP) != 0) GTEST_SKIP() << "This process has a filter already.";
  EXPECT_FALSE(HasNewCallFilter());
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) ::_exit(FilterSeen());
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), kSeen);
  EXPECT_FALSE(HasNewCallFilter());
}

}  // namespace
}  // namespace attune
