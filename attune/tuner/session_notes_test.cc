#include "attune/tuner/session_notes.h"

#include <gtest/gtest.h>

namespace attune {
namespace {

TEST(NothingTimedNoteTest, SaysHowCandidatesFailed) {
  EXPECT_EQ(NothingTimedNote({}), "No candidate could be timed: none was ready in time.");
  EXPECT_EQ(NothingTimedNote({{FailureKind::kBuildFailed, 3}, {FailureKind::kCrashed, 1}}),
            "No candidate could be timed: 3 build_failed, 1 crashed. 'attune explain' tells of "
            "each.");
}

}  // namespace
}  // namespace attune
