// Trained SEER models as files: docs/formats/seer.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "attune/base/status.h"
#include "extensions/models/seer/operator_models.h"
#include "extensions/models/seer/seer_model.h"

namespace attune::seer {

struct SeerFile {
  std::string device;  // What its data were measured on, one line; empty if nobody said.
  int64_t multiprocessors = kTitanXpProcessors;
  SeerModel model;
  OperatorModels operators;
};

// kInvalidArgument if the device is more than one line.
Result<std::string> SeerText(const SeerFile& file);

// kDataLoss, with the line where that is known, for what is damaged, cut off or no such file;
// kFailedPrecondition for another version of the format.
Result<SeerFile> ReadSeerFile(std::string_view text);

}  // namespace attune::seer
