#include "attune/index/refit.h"

#include <system_error>

#include <fmt/format.h>

#include "attune/base/file.h"
#include "attune/index/fitting.h"
#include "attune/index/model_origin.h"
#include "attune/index/record_samples.h"
#include "attune/model/candidate_model.h"
#include "attune/model/shape_features.h"
#include "attune/ops/registry.h"

namespace attune {
namespace {

constexpr double kHeldOutShare = 0.1;

// A refused model counts as none: it is of an older format or damaged, and the user who fitted it
// wants one. A model too large for a run time is not replaced, because another one of the same
// times would be as large.
size_t SamplesOfOld(const std::filesystem::path& path, const ModelOrigin& origin,
                    std::string_view operator_name) {
  const auto text = ReadFileAtOnce(path);
  if (!text.ok()) return 0;
  const auto old = CandidateModel::Read(*text, origin, operator_name);
  return old.ok() ? old->samples() : 0;
}

Result<Refit> FitAnew(Refit refit, const TimeSamples& data, const ModelOrigin& origin) {
  ATTUNE_ASSIGN_OR_RETURN(refit.held_out, HeldOutScore(data, kHeldOutShare));
  ATTUNE_ASSIGN_OR_RETURN(const TimeModel model, FitUsual(data.features, data.samples));
  ATTUNE_ASSIGN_OR_RETURN(const std::string text,
                          ModelText(model, origin, FingerprintOf(data.samples)));
  ATTUNE_RETURN_IF_ERROR(WriteFileAtomically(refit.path, text));
  return refit;
}

}  // namespace

Result<std::vector<Refit>> RefitGrown(RecordStore& store, const std::string& database,
                                      const Target& target, const ModelOrigin& origin,
                                      const LaunchSource* launches) {
  std::vector<Refit> refits;
  std::optional<std::vector<TimedCandidate>> timed;
  for (const Operator* op : Operators()) {
    const std::string_view name = op->name();
    Refit refit{std::string(name), ModelPathOf(database, origin, name), 0, 0, {}};
    std::error_code error;
    if (!std::filesystem::is_regular_file(refit.path, error)) continue;
    if (!timed.has_value()) {
      ATTUNE_ASSIGN_OR_RETURN(timed, TimedInRecords(store, target, origin));
    }
    ATTUNE_ASSIGN_OR_RETURN(const TimeSamples data,
                            SamplesOf(*timed, refit.operator_name, launches));
    refit.samples_before = SamplesOfOld(refit.path, origin, name);
    refit.samples = data.samples.size();
    const double due = kRefitGrowth * static_cast<double>(refit.samples_before);
    const bool is_due = static_cast<double>(refit.samples) >= due && data.configurations >= 2;
    if (!is_due) continue;
    ATTUNE_ASSIGN_OR_RETURN(refit, FitAnew(std::move(refit), data, origin));
    refits.push_back(std::move(refit));
  }
  return refits;
}

std::string Text(const Refit& refit) {
  std::string text = fmt::format("The model of {} was fitted again, to {} times instead of {}",
                                 refit.operator_name, refit.samples, refit.samples_before);
  if (!refit.held_out.has_value()) return text + ".";
  return text + fmt::format(": mean error {:.1f} % on a tenth that another one was not fitted to.",
                            100 * refit.held_out->mean_error);
}

}  // namespace attune
