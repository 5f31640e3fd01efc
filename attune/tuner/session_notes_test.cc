#include "attune/tuner/session_notes.h"

#include <gtest/gtest.h>

namespace attune {
namespace {

TEST(NothingTimedNoteTest, SaysHowCandidatesFailedAndWhatTheFirstSaid) {
  TuneReport report;
  EXPECT_EQ(NothingTimedNote(report), "No candidate could be timed: none was ready in time.");
  report.failures = {{FailureKind::kBuildFailed, 3}, {FailureKind::kCrashed, 1}};
  EXPECT_EQ(NothingTimedNote(report),
            "No candidate could be timed: 3 build_failed, 1 crashed. 'attune explain' tells of "
            "each.");
  report.first_failure = "scale.cl:7: unknown type 'flaot'.\n";
  EXPECT_EQ(NothingTimedNote(report),
            "No candidate could be timed: 3 build_failed, 1 crashed. The first said: scale.cl:7: "
            "unknown type 'flaot'. 'attune explain' tells of each.");
  report.first_failure = std::string(5000, 'a');
  EXPECT_NE(NothingTimedNote(report).find("aaa.... 'attune explain'"), std::string::npos);
  EXPECT_LT(NothingTimedNote(report).size(), 550u);
}

TEST(NothingTimedNoteTest, WhoWasLeftOutIsNotSaidToHaveBeenLate) {
  TuneReport report;
  report.quarantined = 2;
  EXPECT_EQ(NothingTimedNote(report),
            "No candidate could be timed: 2 left out because of what an earlier run met ('attune "
            "tune --retry-quarantined' tries them again). 'attune explain' tells of each.");
}

}  // namespace
}  // namespace attune
