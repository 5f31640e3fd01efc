#include "attune/kernel/multiprocessor.h"

#include <gtest/gtest.h>

namespace attune::kernel {
namespace {

BlockRoom On(std::string_view arch, const BlockNeeds& needs) {
  const Multiprocessor* const found = FindMultiprocessor(arch);
  EXPECT_NE(found, nullptr) << arch;
  return found == nullptr ? BlockRoom() : RoomFor(needs, *found);
}

TEST(MultiprocessorTest, WhatIsShortDecidesHowManyBlocksThereAre) {
  struct Row {
    std::string_view arch;
    BlockNeeds needs;
    int blocks;
    std::string_view limited;
  };
  const Row rows[] = {
      {"sm_61", {256, 64, 16384}, 4, "registers"},
      {"sm_61", {64, 32, 4096}, 24, "shared memory"},
      {"sm_60", {1024, 32, 0}, 2, "threads, registers"},
      {"sm_60", {32, 16, 0}, 32, "blocks"},
      {"sm_62", {1024, 33, 0}, 0, "registers"},
      {"sm_62", {1024, 32, 0}, 2, "threads, registers"},
      {"sm_70", {128, 64, 98304}, 1, "shared memory"},
      {"sm_72", {256, 40, 0}, 6, "registers"},
      {"sm_75", {256, 64, 32768}, 2, "shared memory"},
      {"sm_75", {32, 0, 0}, 16, "blocks"},
      {"sm_80", {256, 32, 0}, 8, "threads, registers"},
      {"sm_80", {256, 128, 0}, 2, "registers"},
      {"sm_80", {128, 32, 40000}, 4, "shared memory"},
      {"sm_86", {256, 32, 0}, 6, "threads"},
      {"sm_86", {1024, 64, 0}, 1, "threads, registers"},
      {"sm_87", {128, 255, 0}, 2, "registers"},
      {"sm_89", {64, 32, 0}, 24, "threads, blocks"},
      {"sm_90", {384, 168, 232448}, 1, "registers, shared memory"},
      {"sm_90", {128, 32, 0}, 16, "threads, registers"},
  };
  for (const Row& row : rows) {
    const BlockRoom room = On(row.arch, row.needs);
    EXPECT_EQ(room.blocks(), row.blocks) << row.arch << " " << row.needs.threads;
    EXPECT_EQ(room.limited(), row.limited) << row.arch << " " << row.needs.threads;
  }
}

TEST(MultiprocessorTest, ABlockThatNeedsMoreThanOneMayHaveHasNoRoom) {
  EXPECT_EQ(On("sm_61", {32, 32, 49153}).blocks(), 0);
  EXPECT_EQ(On("sm_80", {32, 32, 166913}).by_shared_memory, 0);
  EXPECT_EQ(On("sm_80", {32, 32, 166912}).by_shared_memory, 1);
  EXPECT_EQ(On("sm_90", {1025, 32, 0}).by_threads, 0);
  EXPECT_EQ(On("sm_90", {32, 256, 0}).by_registers, 0);
  EXPECT_EQ(On("sm_90", {1024, 65, 0}).by_registers, 0);
}

TEST(MultiprocessorTest, ArchitecturesAreKnownByName) {
  EXPECT_EQ(Multiprocessors().size(), 11u);
  EXPECT_EQ(FindMultiprocessor("sm_90a"), FindMultiprocessor("sm_90"));
  for (const char* const none : {"", "a", "sm_9", "sm_900", "sm_100", "90", "SM_90"}) {
    EXPECT_EQ(FindMultiprocessor(none), nullptr) << none;
  }
}

}  // namespace
}  // namespace attune::kernel
