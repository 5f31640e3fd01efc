#include "apps/attune/peak_watch.h"

#include "apps/attune/choices.h"
#include "attune/record/select.h"

namespace attune {

void PeakWatch::Note(const TuneReport& report, const std::function<bool()>& go_on) {
  if (!report.choice || attempts_ == kMostAttempts) return;
  const Choice& choice = *report.choice;
  const Peaks& peaks = workshop_.peaks();
  if (!IsBoundByArithmetic(choice.problem, peaks) || RooflineFraction(choice, peaks) <= 1) return;
  ++attempts_;
  workshop_.RaisePeaks(go_on, end_ns_);
  tuner_.SetPeaks(workshop_.peaks());
}

}  // namespace attune
