#include "backends/host/gemm/library_threads.h"

#include <gtest/gtest.h>

#include "attune/base/without_threads.h"

namespace attune::host {
namespace {

using Kind = LibraryThreads::Kind;

TEST(LibraryThreadsTest, OneThreadIsAlwaysThere) {
  EXPECT_TRUE(HoldsWithoutThreads([] {
    for (const Kind kind : {Kind::kKept, Kind::kPerCaller, Kind::kPerCall}) {
      LibraryThreads threads(kind, 1);
      if (!threads.Check(1).ok() || !threads.MayCall(1)) return false;
    }
    return true;
  }));
}

TEST(LibraryThreadsTest, WhatCannotBeStartedIsRefused) {
  // More threads than another test of this program can have started within the last second.
  constexpr int kMany = 1 << 16;
  EXPECT_TRUE(HoldsWithoutThreads([] {
    for (const Kind kind : {Kind::kKept, Kind::kPerCaller, Kind::kPerCall}) {
      LibraryThreads threads(kind, 1);
      if (threads.Check(kMany).code() != StatusCode::kResourceExhausted) return false;
    }
    return true;
  }));
}

TEST(LibraryThreadsTest, ThreadsThatRunServeOnUnderALimit) {
  EXPECT_TRUE(HoldsInChild([] {
    LibraryThreads threads(Kind::kKept, 1);
    if (!threads.Check(2).ok()) return false;
    ForbidThreads();
    return threads.Check(2).ok() && threads.MayCall(2) && !threads.Check(3).ok();
  }));
}

TEST(LibraryThreadsTest, AfterAForkTheyHaveToBeStartedAgain) {
  EXPECT_TRUE(HoldsInChild([] {
    LibraryThreads threads(Kind::kKept, 2);
    const bool before = HoldsInChild([] { return true; }) && threads.MayCall(2);
    ForbidThreads();
    const bool lost = !HoldsInChild([] { return false; }) && !threads.MayCall(1);
    return before && lost;
  }));
}

TEST(LibraryThreadsTest, AThreadThatHasATeamCallsOnUnderALimit) {
  EXPECT_TRUE(HoldsInChild([] {
    LibraryThreads threads(Kind::kPerCaller, 1);
    if (!threads.MayCall(2)) return false;
    ForbidThreads();
    return threads.MayCall(2) && !threads.MayCall(3);
  }));
}

TEST(LibraryThreadsTest, ThreadsOfEachCallAreCheckedByEachCall) {
  EXPECT_TRUE(HoldsInChild([] {
    LibraryThreads threads(Kind::kPerCall, 1);
    if (!threads.MayCall(2)) return false;
    ForbidThreads();
    return !threads.MayCall(2);
  }));
}

}  // namespace
}  // namespace attune::host
