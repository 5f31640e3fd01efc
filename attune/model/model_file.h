// Models as files: docs/formats/model.md.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "attune/base/fingerprint.h"
#include "attune/base/status.h"
#include "attune/model/time_model.h"

namespace attune {

// The origin of a model, beside its features. One line of text each.
struct ModelOrigin {
  std::string device;   // Its kind: "NVIDIA H200".
  std::string library;  // Library of the timed kernels, with its version: "cudnn 9.19.0".

  friend bool operator==(const ModelOrigin&, const ModelOrigin&) = default;
};

// The fingerprint of the samples that a model was fitted to.
Fingerprint FingerprintOf(std::span<const Sample> samples);

// kInvalidArgument if `origin` has line ends or control characters.
Result<std::string> ModelText(const TimeModel& model, const ModelOrigin& origin,
                              const Fingerprint& samples);

// Returns the model in `text` if it is of `origin` and of `features`. kFailedPrecondition names the
// mismatch: the format's version, the device, the library's version or the features. kDataLoss for
// a file that is damaged or cut off, with its line where that is known.
Result<TimeModel> ReadModel(std::string_view text, const ModelOrigin& origin,
                            const FeatureSet& features);

// The header of a file, read without the model itself. kDataLoss if it is no model file,
// kFailedPrecondition if it is of another version of the format.
struct ModelHeader {
  ModelOrigin origin;
  std::string features;     // The set's name.
  Fingerprint feature_set;  // Over the features' names.
  Fingerprint samples;
};
Result<ModelHeader> ReadModelHeader(std::string_view text);

}  // namespace attune
