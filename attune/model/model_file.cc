#include "attune/model/model_file.h"

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "attune/base/text.h"
#include "attune/model/model_text.h"

namespace attune {
namespace {

constexpr std::string_view kFormat = "attune_model";
constexpr size_t kVersion = 4;
constexpr size_t kOldestVersion = 3;  // Without a chooser.

Result<Fingerprint> TakeFingerprint(ModelLines& lines, std::string_view keyword) {
  ATTUNE_ASSIGN_OR_RETURN(const std::string hex, lines.Word(keyword));
  const std::optional<Fingerprint> value = Fingerprint::FromHex(hex);
  if (!value.has_value()) {
    return lines.Wrong(fmt::format("'{}' is no fingerprint.", Excerpt(hex)));
  }
  return *value;
}

struct VersionedHeader {
  size_t version = 0;
  ModelHeader header;
};

Result<VersionedHeader> TakeHeader(ModelLines& lines) {
  VersionedHeader taken;
  ATTUNE_ASSIGN_OR_RETURN(taken.version, lines.Count(kFormat, SIZE_MAX));
  if (taken.version < kOldestVersion || taken.version > kVersion) {
    return FailedPrecondition(fmt::format(
        "The model has version {} of the format, and this program reads versions {} to {}: fit it "
        "again.",
        taken.version, kOldestVersion, kVersion));
  }
  ModelHeader& header = taken.header;
  ATTUNE_ASSIGN_OR_RETURN(header.origin.device, lines.Word("device"));
  ATTUNE_ASSIGN_OR_RETURN(header.origin.library, lines.Word("library"));
  ATTUNE_ASSIGN_OR_RETURN(header.features, lines.Word("features"));
  ATTUNE_ASSIGN_OR_RETURN(header.feature_set, TakeFingerprint(lines, "feature_set"));
  ATTUNE_ASSIGN_OR_RETURN(header.samples, TakeFingerprint(lines, "fitted_to"));
  return taken;
}

Status Mismatch(std::string_view what, std::string_view is, std::string_view needed) {
  return FailedPrecondition(
      fmt::format("The model is of {} '{}', and '{}' is needed: fit one there.", what, is, needed));
}

}  // namespace

Fingerprint FingerprintOf(std::span<const Sample> samples) {
  std::string text;
  for (const Sample& sample : samples) {
    (text += sample.row.algorithm) += '\n';
    AppendNumbers(text, "t", std::span(&sample.time_ms, 1));
    AppendNumbers(text, "x", sample.row.values);
    for (const KernelRow& kernel : sample.row.kernels) {
      AppendNumbers(text, kernel.signature, kernel.values);
    }
    AppendNumbers(text, "k", sample.kernel_times_ms);
  }
  return FingerprintOf(text);
}

Result<std::string> ModelText(const TimeModel& model, const ModelOrigin& origin,
                              const Fingerprint& samples) {
  if (!IsOneLine(origin.device) || !IsOneLine(origin.library)) {
    return InvalidArgument("The device and the library of a model are one line each.");
  }
  std::string text;
  AppendCount(text, kFormat, kVersion);
  AppendWord(text, "device", origin.device);
  AppendWord(text, "library", origin.library);
  AppendWord(text, "features", model.features().name);
  AppendWord(text, "feature_set", FingerprintOf(model.features()).ToHex());
  AppendWord(text, "fitted_to", samples.ToHex());
  model.AppendText(text);
  AppendSeal(text);
  return text;
}

Result<ModelHeader> ReadModelHeader(std::string_view text) {
  ModelLines lines(text);
  ATTUNE_ASSIGN_OR_RETURN(VersionedHeader taken, TakeHeader(lines));
  return std::move(taken.header);
}

Result<TimeModel> ReadModel(std::string_view text, const ModelOrigin& origin,
                            const FeatureSet& features) {
  ModelLines lines(text);
  ATTUNE_ASSIGN_OR_RETURN(const VersionedHeader taken, TakeHeader(lines));
  const ModelHeader& header = taken.header;
  if (header.origin.device != origin.device) {
    return Mismatch("device", header.origin.device, origin.device);
  }
  if (header.origin.library != origin.library) {
    return Mismatch("library", header.origin.library, origin.library);
  }
  if (header.features != features.name || header.feature_set != FingerprintOf(features)) {
    return Mismatch("the features", header.features, features.name);
  }
  ATTUNE_RETURN_IF_ERROR(CheckSeal(text));
  ATTUNE_ASSIGN_OR_RETURN(TimeModel model,
                          TimeModel::ReadFrom(lines, features, taken.version > kOldestVersion));
  ATTUNE_RETURN_IF_ERROR(lines.Word("seal").status());
  if (!lines.AtEnd()) return lines.Wrong("there is more behind the seal.");
  return model;
}

}  // namespace attune
