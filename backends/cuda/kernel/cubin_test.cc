// Machine code may come from files of other programs: for any content the answer is a possible one,
// or none.
#include "backends/cuda/kernel/cubin.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "attune/base/random.h"
#include "backends/cuda/kernel/elf_file_test.h"
#include "backends/cuda/kernel/occupancy.h"

namespace attune::cuda {
namespace {

constexpr uint32_t kLargest = std::numeric_limits<uint32_t>::max();

StatedKernel Usual() {
  StatedKernel kernel;
  kernel.most_threads = {128, 2, 1};
  kernel.shared_bytes = 4000;
  return kernel;
}

TEST(CubinTest, AKernelIsFoundByItsNameWithAllThatTheFileSays) {
  const auto found = FindKernel(CubinOf(Usual()), "f");

  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->registers, 40);
  EXPECT_EQ(found->most_threads, 256);
  EXPECT_EQ(found->section_bytes, 4000);
  EXPECT_FALSE(FindKernel(CubinOf(Usual()), "g").has_value());
  EXPECT_FALSE(FindKernel(CubinOf(Usual()), "ff").has_value());
  EXPECT_FALSE(FindKernel(CubinOf(Usual()), "").has_value());
}

TEST(CubinTest, WhatAFileDoesNotSayIsNothing) {
  const auto found = FindKernel(CubinOf({}), "f");

  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->most_threads, 0);
  EXPECT_EQ(found->section_bytes, 0);
}

TEST(CubinTest, NumbersThatNoGpuHasAreNotUnderstood) {
  for (const uint32_t registers : {0u, 256u, kLargest}) {
    StatedKernel kernel = Usual();
    kernel.registers = registers;
    EXPECT_FALSE(FindKernel(CubinOf(kernel), "f").has_value()) << registers;
  }
  for (const uint64_t shared_bytes :
       {uint64_t{1} << 31, uint64_t{1} << 63, std::numeric_limits<uint64_t>::max()}) {
    StatedKernel kernel = Usual();
    kernel.shared_bytes = shared_bytes;
    EXPECT_FALSE(FindKernel(CubinOf(kernel), "f").has_value()) << shared_bytes;
  }
  // Their product is more than 64 bits.
  StatedKernel kernel = Usual();
  kernel.most_threads = {kLargest, kLargest, kLargest};
  EXPECT_FALSE(FindKernel(CubinOf(kernel), "f").has_value());
}

// Changed in one to three places, or cut there.
std::string Damaged(std::string bytes, Random& random) {
  for (uint64_t changes = 1 + random.Below(3); changes > 0; --changes) {
    const size_t at = random.Below(bytes.size());
    switch (random.Below(4)) {
      case 0:
        bytes[at] = static_cast<char>(random.Next());
        break;
      case 1:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << random.Below(8)));
        break;
      case 2:
        for (size_t i = at; i < std::min(at + 8, bytes.size()); ++i) bytes[i] = '\xff';
        break;
      default:
        bytes.resize(at + 1);
        break;
    }
  }
  return bytes;
}

TEST(CubinTest, DamagedFilesGiveAnAnswerThatCanBeOrNone) {
  const std::string intact = CubinOf(Usual());
  Random random(61);
  int found_count = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::string damaged = Damaged(intact, random);
    const auto found = FindKernel(damaged, "f");
    if (!found.has_value()) continue;
    ++found_count;
    ASSERT_GT(found->registers, 0);
    ASSERT_LE(found->registers, 255);
    ASSERT_GE(found->most_threads, 0);
    ASSERT_GE(found->section_bytes, 0);
    for (const char* arch : {"sm_80", "sm_90"}) {
      const auto room = OccupancyOf(*found, {256, 1024}, arch);
      ASSERT_TRUE(room.ok()) << room.status().message();
      ASSERT_GE(room->blocks, 0);
      ASSERT_LE(room->blocks, 8);
    }
  }
  // The damage covers both cases: files that are still understood, and files that are not.
  EXPECT_GT(found_count, 2'000);
  EXPECT_LT(found_count, 18'000);
}

// A search through all sections for each record would take minutes.
TEST(CubinTest, ManySectionsOfLongNamesAndManyRecordsAreReadAtOnce) {
  std::string records;
  for (int i = 0; i < 100'000; ++i) records += InfoRecord(0x2f, {1, 40});
  std::vector<ElfSection> sections = {{".strtab", std::string("\0f\0", 3), 0, 0},
                                      {".nv.info", records, 0, 0}};
  sections.resize(20'000, {std::string(1000, 'x'), "", 0, 0});
  sections.push_back({".symtab", std::string(2 * sizeof(Elf64_Sym), '\1'), 1, 0});
  // The name of the second symbol is the first text.
  const uint32_t first_text = 1;
  std::memcpy(sections.back().content.data() + sizeof(Elf64_Sym), &first_text, sizeof first_text);

  EXPECT_TRUE(FindKernel(ElfFileOf(sections), "f").has_value());
}

}  // namespace
}  // namespace attune::cuda
