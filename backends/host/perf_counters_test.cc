#include "backends/host/perf_counters.h"

#include <cerrno>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune::host {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;

OpenPerfEvent Refusing(int error) {
  return [error](perf_event_attr&, pid_t) {
    errno = error;
    return -1;
  };
}

Status Nothing() { return Status::Ok(); }

// Takes the processor for a while.
double Work() {
  double sum = 0;
  for (int i = 0; i < 5'000'000; ++i) {
    const volatile double step = i;
    sum += step;
  }
  return sum;
}

// Software's own counters, which most virtual machines have, too.
TEST(PerfCounters, CountTheThreadsThatWorkMeanwhile) {
  const auto counters = MakePerfCounters();
  const auto idle = counters->Count({"task-clock"}, 1, Nothing);
  if (!idle.ok()) GTEST_SKIP() << idle.status().message();

  const auto one = counters->Count({"task-clock", "page-faults"}, 1, [] {
    Work();
    return Status::Ok();
  });
  const auto two = counters->Count({"task-clock"}, 1, [] {
    std::thread other(Work);
    Work();
    other.join();
    return Status::Ok();
  });

  ASSERT_TRUE(one.ok() && two.ok());
  ASSERT_THAT(*one, SizeIs(1));
  ASSERT_THAT(one->front(), SizeIs(2));
  EXPECT_GT(one->front()[0], 4 * idle->front()[0]);
  EXPECT_GT(two->front()[0], 1.3 * one->front()[0]);
}

TEST(PerfCounters, OfTheProcessorCountInstructionsOrSayWhyNot) {
  const auto counted = MakePerfCounters()->Count({"cycles", "instructions"}, 1, [] {
    Work();
    return Status::Ok();
  });

  EXPECT_EQ(counted.ok(), CheckPerfCounters().ok());
  if (counted.ok()) {
    EXPECT_GT(counted->front()[1], 5e6);
  } else {
    EXPECT_THAT(counted.status().message(), HasSubstr("'cycles'"));
  }
}

TEST(PerfCounters, WhatTheSystemForbidsSaysWhatPermitsIt) {
  bool has_run = false;
  const auto run = [&] {
    has_run = true;
    return Status::Ok();
  };

  for (const int error : {EACCES, EPERM}) {
    const auto counted = MakePerfCounters(Refusing(error))->Count({"cycles"}, 1, run);

    EXPECT_EQ(counted.status().code(), StatusCode::kUnavailable);
    EXPECT_THAT(counted.status().message(),
                AllOf(HasSubstr("'cycles'"), HasSubstr("perf_event_paranoid")));
    EXPECT_EQ(CheckPerfCounters(Refusing(error)), counted.status());
  }
  EXPECT_FALSE(has_run);
}

TEST(PerfCounters, WhatTheProcessorLacksIsUnsupported) {
  for (const int error : {ENOENT, EOPNOTSUPP, ENODEV, ENOSYS}) {
    const auto counted = MakePerfCounters(Refusing(error))->Count({"LLC-loads"}, 1, Nothing);

    EXPECT_EQ(counted.status().code(), StatusCode::kUnsupported);
    EXPECT_THAT(counted.status().message(), HasSubstr("virtual machines"));
  }
  EXPECT_EQ(MakePerfCounters(Refusing(EMFILE))->Count({"cycles"}, 1, Nothing).status().code(),
            StatusCode::kResourceExhausted);
}

TEST(PerfCounters, ANameThatIsNoneListsThoseThatThereAre) {
  const auto counted = MakePerfCounters(Refusing(0))->Count({"dram__bytes"}, 1, Nothing);

  EXPECT_EQ(counted.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(counted.status().message(), AllOf(HasSubstr("'dram__bytes'"), HasSubstr("cycles")));
}

TEST(PerfCounters, AFailureOfTheCallIsTheFailure) {
  const auto counted = MakePerfCounters()->Count({}, 1, [] { return Internal("It broke."); });

  EXPECT_EQ(counted.status(), Internal("It broke."));
}

}  // namespace
}  // namespace attune::host
