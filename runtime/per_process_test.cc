#include "runtime/per_process.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace attune {
namespace {

int InChild(const std::function<int()>& body) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(body());
  int status = -1;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

class PerProcessTest : public ::testing::Test {
 protected:
  PerProcessTest() { WatchForks(); }

  int first_ = 1;
  int second_ = 2;
  PerProcess<int> value_{&first_};
  const std::function<Result<int*>()> make_second_ = [this]() -> Result<int*> { return &second_; };
};

TEST_F(PerProcessTest, TheMakerHasWhatItMade) {
  EXPECT_EQ(value_.get(), &first_);
  EXPECT_EQ(*value_.GetOrMake(make_second_), &first_);
}

TEST_F(PerProcessTest, AChildHasNothingUntilItMakesItsOwnAndItsParentKeepsTheFirst) {
  const int child = InChild([&] {
    if (value_.get() != nullptr || value_.last() != &first_) return 1;
    if (*value_.GetOrMake(make_second_) != &second_) return 2;
    return value_.get() == &second_ ? 0 : 3;
  });

  EXPECT_EQ(child, 0);
  EXPECT_EQ(value_.get(), &first_);
}

TEST_F(PerProcessTest, AGrandchildMakesItsOwnEvenIfItsParentWasMakingOne) {
  const int child = InChild([&] {
    int grandchild = -1;
    const auto made = value_.GetOrMake([&]() -> Result<int*> {
      grandchild = InChild([&] { return *value_.GetOrMake(make_second_) == &second_ ? 0 : 1; });
      return &second_;
    });
    return made.ok() && grandchild == 0 ? 0 : 1;
  });

  EXPECT_EQ(child, 0);
}

TEST_F(PerProcessTest, AfterAFailureTheNextOneTriesAgain) {
  const int child = InChild([&] {
    const auto failed = value_.GetOrMake([]() -> Result<int*> { return Internal("No."); });
    if (failed.ok() || value_.get() != nullptr) return 1;
    return *value_.GetOrMake(make_second_) == &second_ ? 0 : 2;
  });

  EXPECT_EQ(child, 0);
}

TEST_F(PerProcessTest, ThreadsOfAChildMakeOneTogether) {
  const int child = InChild([&] {
    std::atomic<int> made{0};
    std::atomic<int> seen{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&] {
        const auto value = value_.GetOrMake([&]() -> Result<int*> {
          made.fetch_add(1);
          return &second_;
        });
        if (*value == &second_) seen.fetch_add(1);
      });
    }
    for (std::thread& thread : threads) thread.join();
    return made.load() == 1 && seen.load() == 8 ? 0 : 1;
  });

  EXPECT_EQ(child, 0);
}

}  // namespace
}  // namespace attune
