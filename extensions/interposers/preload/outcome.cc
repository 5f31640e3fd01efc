#include "extensions/interposers/preload/outcome.h"

namespace attune::interposer {

const char* Name(Outcome outcome) {
  switch (outcome) {
    case Outcome::kServed:
      return "served";
    case Outcome::kOff:
      return "switched off";
    case Outcome::kReentrant:
      return "from within a library";
    case Outcome::kEmpty:
      return "empty";
    case Outcome::kStrided:
      return "strided";
    case Outcome::kNotFinite:
      return "with alpha or beta not finite";
    case Outcome::kInvalid:
      return "invalid";
    case Outcome::kScalars:
      return "with scalars on a device";
    case Outcome::kTypes:
      return "of other types";
    case Outcome::kMath:
      return "of other math";
    case Outcome::kAlgorithm:
      return "with an algorithm";
    case Outcome::kEpilogue:
      return "with another epilogue";
    case Outcome::kLayout:
      return "of another layout";
    case Outcome::kContext:
      return "in another context";
    case Outcome::kCapture:
      return "captured too early";
    case Outcome::kUntuned:
      return "not tuned";
    case Outcome::kRefused:
      return "refused";
    case Outcome::kLimited:
      return "under a limit";
    case Outcome::kFailed:
      return "without a run time";
    case Outcome::kForked:
      return "after a fork";
  }
  return "unknown";
}

}  // namespace attune::interposer
