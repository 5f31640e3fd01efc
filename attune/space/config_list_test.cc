#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "attune/space/config_space.h"

namespace attune {
namespace {

std::vector<Config> Parsed(std::initializer_list<const char*> texts) {
  std::vector<Config> configs;
  for (const char* text : texts) configs.push_back(*ParseConfig(text));
  return configs;
}

// As a library lists them: by merit, and with holes.
const std::vector<Config> kListed =
    Parsed({"id=66,stages=8,tile=20", "id=21,stages=4,tile=20", "id=66,stages=4,tile=20",
            "id=66,stages=8,tile=7", "id=66,stages=8,tile=33"});

std::string ErrorOf(const std::vector<Config>& configs) {
  const auto space = ConfigSpace::FromConfigs(configs);
  EXPECT_FALSE(space.ok());
  return space.status().message();
}

TEST(ListedSpaceTest, KeepsTheOrderOfTheList) {
  const auto space = ConfigSpace::FromConfigs(kListed);
  ASSERT_TRUE(space.ok()) << space.status().message();
  ASSERT_EQ(space->size(), kListed.size());
  for (uint64_t index = 0; index < space->size(); ++index) {
    EXPECT_EQ(space->At(index), kListed[index]);
    EXPECT_EQ(space->IndexOf(kListed[index]), index);
  }
}

TEST(ListedSpaceTest, PositionsAreInTheOrderOfTheList) {
  const auto space = ConfigSpace::FromConfigs(kListed);
  ASSERT_TRUE(space.ok());

  // The parameters are id (21, 66), stages (4, 8) and tile (7, 20, 33).
  EXPECT_EQ(space->Positions(0, 3), (std::vector<uint32_t>{1, 1, 1, 0, 0, 1, 1, 0, 1}));
  EXPECT_EQ(space->IndexOfPositions(std::vector<uint32_t>{1, 1, 0}), 3u);
}

TEST(ListedSpaceTest, CombinationsThatAreNotListedAreNotInIt) {
  const auto space = ConfigSpace::FromConfigs(kListed);
  ASSERT_TRUE(space.ok());
  for (const char* text : {"id=21,stages=8,tile=20", "id=66,stages=8,tile=8", "id=66,stages=8"}) {
    EXPECT_EQ(space->IndexOf(*ParseConfig(text)), std::nullopt) << text;
  }
}

TEST(ListedSpaceTest, NeighboursDifferInOneParameter) {
  const auto space = ConfigSpace::FromConfigs(kListed);
  ASSERT_TRUE(space.ok());
  std::vector<uint64_t> any = space->Neighbours(3, false);
  std::sort(any.begin(), any.end());
  EXPECT_EQ(any, (std::vector<uint64_t>{0, 4}));
  EXPECT_EQ(space->Neighbours(3, true), (std::vector<uint64_t>{0}));  // 7, 20, 33.
  std::vector<uint64_t> of_first = space->Neighbours(0, true);
  std::sort(of_first.begin(), of_first.end());
  EXPECT_EQ(of_first, (std::vector<uint64_t>{2, 3, 4}));
}

TEST(ListedSpaceTest, ParametersHaveTheValuesThatOccur) {
  const auto space = ConfigSpace::FromConfigs(kListed);
  ASSERT_TRUE(space.ok());
  const std::vector<Parameter> expected = {{"id", {int64_t{21}, int64_t{66}}},
                                           {"stages", {int64_t{4}, int64_t{8}}},
                                           {"tile", {int64_t{7}, int64_t{20}, int64_t{33}}}};
  EXPECT_EQ(space->parameters(), expected);
}

TEST(ListedSpaceTest, OneConfigIsASpace) {
  for (const char* text : {"", "algorithm=first,math=plain"}) {
    const auto space = ConfigSpace::FromConfigs(Parsed({text}));
    ASSERT_TRUE(space.ok()) << space.status().message();
    EXPECT_EQ(space->size(), 1u);
    EXPECT_EQ(Text(space->At(0)), text);
    EXPECT_EQ(space->IndexOf(space->At(0)), 0u);
    EXPECT_TRUE(space->Neighbours(0, false).empty());
  }
}

TEST(ListedSpaceTest, ErrorsNameTheConfig) {
  EXPECT_EQ(ErrorOf({}), "A space was to be made of an empty list.");
  EXPECT_EQ(ErrorOf(Parsed({"a=1", "b=1"})),
            "Listed config 'b=1' has other parameters than 'a=1'.");
  EXPECT_EQ(ErrorOf(Parsed({"a=1,b=2", "a=1"})),
            "Listed config 'a=1' has other parameters than 'a=1,b=2'.");
  EXPECT_EQ(ErrorOf(Parsed({"a=1", "a=2", "a=1"})), "Config 'a=1' is listed twice.");
  EXPECT_EQ(ErrorOf(Parsed({"", ""})), "Config '' is listed twice.");
}

int64_t IdTimesTile(const Config& config) {
  return std::get<int64_t>(config.at("id")) * std::get<int64_t>(config.at("tile"));
}

TEST(SortedSpaceTest, TheCheapestComeBehindTheDefault) {
  const auto space = ConfigSpace::FromConfigs(kListed);
  ASSERT_TRUE(space.ok());
  EXPECT_EQ(space->guesses(), 1u);

  const auto sorted = space->SortedBy([](const Config& config) { return IdTimesTile(config); });

  ASSERT_TRUE(sorted.ok()) << sorted.status().message();
  EXPECT_EQ(sorted->guesses(), kListed.size());
  const std::vector<Config> expected = {kListed[0], kListed[1], kListed[3], kListed[2], kListed[4]};
  for (uint64_t index = 0; index < sorted->size(); ++index) {
    EXPECT_EQ(sorted->At(index), expected[index]);
    EXPECT_EQ(sorted->IndexOf(expected[index]), index);
  }
  std::vector<uint64_t> neighbours = sorted->Neighbours(0, true);
  std::sort(neighbours.begin(), neighbours.end());
  EXPECT_EQ(neighbours, (std::vector<uint64_t>{2, 3, 4}));
}

TEST(SortedSpaceTest, EqualOnesKeepTheirOrder) {
  const auto made = ConfigSpace::Create({{"x", {int64_t{3}, int64_t{1}, int64_t{2}}}}, {});
  ASSERT_TRUE(made.ok());

  const auto sorted = made->SortedBy([](const Config&) { return int64_t{0}; });

  ASSERT_TRUE(sorted.ok());
  for (uint64_t index = 0; index < 3; ++index) EXPECT_EQ(sorted->At(index), made->At(index));
}

TEST(SortedSpaceTest, WhatCannotBeEstimatedFails) {
  const auto space = ConfigSpace::FromConfigs(kListed);
  ASSERT_TRUE(space.ok());

  const auto sorted = space->SortedBy(
      [](const Config&) -> Result<int64_t> { return InvalidArgument("No estimate."); });

  EXPECT_EQ(sorted.status().message(), "No estimate.");
}

}  // namespace
}  // namespace attune
