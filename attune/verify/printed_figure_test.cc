#include "attune/verify/printed_figure.h"

#include <cmath>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/random.h"

namespace attune {
namespace {

using Reduction = FigureSource::Reduction;

FigureSource Printed(const std::string& name, Reduction reduction = Reduction::kFirst) {
  return {.reduction = reduction, .printed = name};
}

struct Case {
  const char* text;
  std::optional<double> figure;  // Value of "GB/s"; none if the text has none.
};

TEST(PrintedFigureTest, IsFoundByWholeWordAndIsAWholeNumber) {
  const Case cases[] = {
      {"GB/s: 1.5", 1.5},
      {"GB/s = 1.5\n", 1.5},
      {"GB/s 1.5", 1.5},
      {"GB/s=-2", -2},
      {"GB/s:+3e2,", 300},
      {"GB/s\t:\t.5", 0.5},
      {"copy (GB/s: 7)", 7},
      {"n=3 GB/s=4; rest", 4},
      {"93 GB/s: 5%", 5},
      {"GB/s of copies\nGB/s: 6", 6},
      {"GB/s: 1\r\n", 1},
      {"no GB/s here, GB/s is 3, GB/s 2", 2},
      {"MGB/s: 1", std::nullopt},
      {"GB/sec: 1", std::nullopt},
      {"max.GB/s: 1", std::nullopt},
      {"max-GB/s: 1", std::nullopt},
      {"\xc3\xa4GB/s: 1", std::nullopt},
      {"GB/s", std::nullopt},
      {"GB/s:", std::nullopt},
      {"GB/s:\n5", std::nullopt},
      {"GB/s\n5", std::nullopt},
      {"GB/s: :5", std::nullopt},
      {"GB/s == 5", std::nullopt},
      {"GB/s: five", std::nullopt},
      {"GB/s: five\nGB/s: 5", std::nullopt},
      {"GB/s: 5\nGB/s: -", std::nullopt},
      {"GB/s: 1.5ms", std::nullopt},
      {"GB/s: 1,000", std::nullopt},
      {"GB/s: 0x10", std::nullopt},
      {"GB/s: 1.2.3", std::nullopt},
      {"GB/s: +-1", std::nullopt},
      {"GB/s: 1e999", std::nullopt},
      {"GB/s: nan", std::nullopt},
      {"GB/s: -nan", std::nullopt},
      {"GB/s 5\nGB/s inf", std::nullopt},
      {"", std::nullopt},
      {"nothing of it", std::nullopt},
  };
  for (const Case& each : cases) {
    const auto figure = ReadPrintedFigure(Printed("GB/s"), each.text);

    const auto found = figure.ok() ? std::optional(*figure) : std::nullopt;
    EXPECT_EQ(found, each.figure) << each.text;
  }
}

TEST(PrintedFigureTest, ManyArePutTogetherAsIsAskedFor) {
  const char* const text = "loss: 3\nloss: -1\nother: 9\nloss: 2\n";
  const std::pair<Reduction, double> expected[] = {{Reduction::kFirst, 3},
                                                   {Reduction::kLast, 2},
                                                   {Reduction::kMax, 3},
                                                   {Reduction::kMin, -1},
                                                   {Reduction::kSum, 4}};
  for (const auto& [reduction, figure] : expected) {
    EXPECT_EQ(ReadPrintedFigure(Printed("loss", reduction), text).value(), figure)
        << Name(reduction);
  }
}

TEST(PrintedFigureTest, ASumThatIsInfiniteIsNone) {
  const auto sum = ReadPrintedFigure(Printed("a", Reduction::kSum), "a 1e308 a 1e308");

  EXPECT_EQ(sum.status().code(), StatusCode::kUnavailable);
}

TEST(PrintedFigureTest, WhatIsThereInsteadIsShownAndCut) {
  EXPECT_EQ(ReadPrintedFigure(Printed("loss"), "").status().message(),
            "The figure 'printed loss first' is not there: nothing was printed.");
  EXPECT_EQ(ReadPrintedFigure(Printed("loss"), "gain: 1").status().message(),
            "The figure 'printed loss first' is not there: 'gain: 1' was printed.");
  EXPECT_EQ(ReadPrintedFigure(Printed("loss"), "a\nloss: -nan\nb").status().message(),
            "The figure 'printed loss first' is no number where 'loss: -nan' was printed.");
  EXPECT_THAT(ReadPrintedFigure(Printed("loss"), std::string(5000, 'x')).status().message(),
              testing::HasSubstr("xx... [5000 bytes]' was printed"));
}

TEST(PrintedFigureTest, AnyTextIsAFiniteFigureOrNone) {
  const std::string pieces[] = {"loss", ":", "=", " ",   "\n",  "1", "-",
                                "e9",   ".", ",", "nan", "inf", "x", std::string(1, '\0'),
                                "\xff", "+"};
  Random random(7);
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    for (uint64_t i = random.Below(12); i > 0; --i) text += pieces[random.Below(std::size(pieces))];

    const auto figure = ReadPrintedFigure(Printed("loss", Reduction::kSum), text);

    EXPECT_TRUE(!figure.ok() || std::isfinite(*figure)) << text;
  }
}

}  // namespace
}  // namespace attune
