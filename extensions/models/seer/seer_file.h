// Files of trained SEER models: docs/formats/seer.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "attune/base/status.h"
#include "extensions/models/seer/operator_models.h"
#include "extensions/models/seer/seer_model.h"

namespace attune::seer {

struct SeerFile {
  std::string device;  // Where data were measured, a line; may be empty.
  int64_t multiprocessors = kTitanXpProcessors;
  SeerModel model;
  OperatorModels operators;
};

// kInvalidArgument if the device has more than one line.
Result<std::string> SeerText(const SeerFile& file);

// kDataLoss, with the line where that is known, for a damaged, truncated or foreign file;
// kFailedPrecondition for another version of the format.
Result<SeerFile> ReadSeerFile(std::string_view text);

}  // namespace attune::seer
