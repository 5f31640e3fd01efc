// The plots of a report, each one SVG image.
#pragma once

#include <string>
#include <vector>

#include "apps/attune/report/report_data.h"

namespace attune {

// Solvers in the order in which colours are given out: by how many candidates they have.
class Palette {
 public:
  explicit Palette(const ReportData& data);

  // CSS class of the marks of a solver: "c0" to "c9", "cx" for those beyond.
  std::string ClassOf(const std::string& solver_name) const;
  // Name and class, in order, those without a colour of their own left out.
  std::vector<std::pair<std::string, std::string>> entries() const;

 private:
  static constexpr size_t kColours = 10;
  std::vector<std::string> names_;
};

// A bar for each measured problem, longest first, with its confidence interval; the default is 1.
std::string SpeedupPlot(const ReportData& data, const Palette& palette);

// A row for each measured problem: every timed candidate at its time over that of the winner, on a
// logarithmic axis, coloured by solver, the default ringed.
std::string StripPlot(const ReportData& data, const Palette& palette);

// A histogram of times over that of the winner, best and winner marked.
std::string SpacePlot(const SpaceView& space, const Palette& palette);

// All that were measured by two objectives, the first across and the second upwards, with a line
// along the front and the default ringed.
std::string FrontPlot(const FrontView& view);

// A row for the stages and one for each process: its activity over time.
std::string TimelinePlot(const Timeline& timeline);

// Two bars: a whole list or network by default and tuned.
std::string TotalPlot(const NetworkTotal& total);

// True if a problem was measured and has something to draw.
bool IsMeasured(const ReportProblem& problem);

}  // namespace attune
