// A model's plots show every candidate once, are well-formed, and give the figures in words.
#include "apps/attune/report/model_plots.h"

#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apps/attune/report/page.h"
#include "attune/ops/gemm/gemm.h"

namespace attune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

size_t CountOf(const std::string& text, std::string_view part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// Every element that is opened is closed in order, or closes itself.
bool IsWellFormed(const std::string& markup) {
  std::vector<std::string> open;
  for (size_t at = markup.find('<'); at != std::string::npos; at = markup.find('<', at + 1)) {
    const size_t end = markup.find('>', at);
    if (end == std::string::npos) return false;
    if (markup[end - 1] == '/') continue;
    const bool closes = markup[at + 1] == '/';
    const size_t begin = at + (closes ? 2 : 1);
    const std::string name = markup.substr(begin, markup.find_first_of(" >", begin) - begin);
    if (!closes) {
      open.push_back(name);
    } else if (open.empty() || open.back() != name) {
      return false;
    } else {
      open.pop_back();
    }
  }
  return open.empty();
}

// Problems with `candidates` candidates each, in two solvers; the first is the default. Predictions
// are off by `factor`, and in the wrong order if `is_reversed`.
std::vector<PredictedTime> Times(int problems, int candidates, double factor, bool is_reversed) {
  std::vector<PredictedTime> times;
  for (int i = 0; i < problems; ++i) {
    for (int j = 0; j < candidates; ++j) {
      PredictedTime time;
      time.problem = Normalized(PackedGemm(8 << i, 8, 8));
      time.candidate.solver.name = j % 2 == 0 ? "host.even" : "host.<odd>";
      time.candidate.config["p"] = int64_t{j};
      time.is_default = j == 0;
      time.measured_ms = (i + 1) * (candidates - j);  // The last one is the best.
      const double place = is_reversed ? j + 1 : candidates - j;
      const double median = factor * (i + 1) * place;
      time.predicted = {median, median / 1.5, median * 1.5};
      times.push_back(time);
    }
  }
  return times;
}

TEST(RegretOf, ByARightModelIsNothingAndByAWrongOneAllThatThereIs) {
  const RegretCurves right = RegretOf(Times(3, 4, 2, false));
  const RegretCurves wrong = RegretOf(Times(3, 4, 2, true));

  EXPECT_EQ(right.problems, 3u);
  EXPECT_NEAR(right.by_model[0], 1, 1e-12);
  EXPECT_NEAR(right.of_default, 4, 1e-12);
  EXPECT_NEAR(wrong.by_model[0], 4, 1e-12);
  EXPECT_NEAR(wrong.by_model[2], 2, 1e-12);
  EXPECT_NEAR(wrong.by_model[15], 1, 1e-12);
  // One of four at random: the geometric mean of 1 to 4.
  EXPECT_NEAR(right.at_random[0], std::pow(24, 0.25), 1e-9);
  // Two of them: the best is 1 in a half, 2 in a third and 3 in a sixth of the pairs.
  EXPECT_NEAR(right.at_random[1], std::pow(2, 1.0 / 3) * std::pow(3, 1.0 / 6), 1e-9);
  EXPECT_NEAR(right.at_random[3], 1, 1e-12);
}

TEST(RegretOf, AProblemWithOneCandidateIsNoChoice) {
  EXPECT_EQ(RegretOf(Times(3, 1, 1, false)).problems, 0u);
}

TEST(ModelPlots, HaveACircleForEachCandidateAndAreWellFormed) {
  const std::vector<PredictedTime> times = Times(3, 4, 1.2, false);
  const Palette palette{ReportData()};

  const std::string predicted = PredictedPlot(times, palette);
  const std::string errors = ErrorPlot(times, palette);
  const std::string regret = RegretPlot(RegretOf(times));

  EXPECT_EQ(CountOf(predicted, "<circle"), times.size());
  EXPECT_EQ(CountOf(errors, "<circle"), times.size());
  EXPECT_EQ(CountOf(errors, "class=\"whisker\""), 2u);  // A median for each solver.
  EXPECT_EQ(CountOf(regret, "<circle"), 2 * RegretCurves::kMostMeasured);
  for (const std::string& plot : {predicted, errors, regret}) {
    EXPECT_TRUE(IsWellFormed(plot));
    EXPECT_THAT(plot,
                AllOf(HasSubstr("role=\"img\""), Not(HasSubstr("nan")), Not(HasSubstr("inf"))));
  }
}

TEST(ModelPlots, SayInWordsWhatTheyShow) {
  const std::vector<PredictedTime> times = Times(3, 4, 1.2, false);

  const std::string section = ModelSection(times, Palette{ReportData()});

  EXPECT_TRUE(IsWellFormed(section));
  EXPECT_THAT(PredictedPlot(times, Palette{ReportData()}),
              HasSubstr("aria-label=\"Predicted against measured times of 12 candidates: half are "
                        "within 20.0 % of what was measured, and 12 within their range"));
  EXPECT_THAT(section, HasSubstr("By the model: 0.0 % with one"));
  EXPECT_THAT(section, HasSubstr("<td>host.even</td><td class=\"num\">6</td>"
                                 "<td class=\"num\">20.0 %</td><td class=\"num\">1.20x</td>"));
  EXPECT_THAT(section, HasSubstr("host.&lt;odd&gt;"));
}

TEST(ModelPlots, WithoutTimesThereIsNoSection) {
  EXPECT_EQ(ModelSection({}, Palette{ReportData()}), "");
  EXPECT_THAT(RenderPage(ReportData()), Not(HasSubstr("What a model predicts")));
  EXPECT_THAT(RenderPage(ReportData(), Times(2, 1, 1, false)),
              AllOf(HasSubstr("What a model predicts"), Not(HasSubstr("Regret"))));
}

}  // namespace
}  // namespace attune
