// Models beside a database, fitted again as its records grow.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "attune/base/status.h"
#include "attune/model/evaluation.h"
#include "attune/model/launch_source.h"
#include "attune/model/model_file.h"
#include "attune/problem/target.h"
#include "attune/record/record_store.h"

namespace attune {

// A model is fitted again once its number of times has grown by this factor: a fifth more times
// moves predictions by less than their range, and a fit takes a second.
inline constexpr double kRefitGrowth = 1.2;

// The result for one model.
struct Refit {
  std::string operator_name;
  std::filesystem::path path;
  size_t samples_before = 0;  // 0: the old model was unusable.
  size_t samples = 0;
  // Score of another model, fitted without a tenth of the configurations, on these.
  std::optional<ModelScore> held_out;
};

// Fits each model beside `database` of origin `origin` again if its times have grown. Uses records
// on `target` in `store`, with the launches of `launches`, which may be null. Each fit is
// cross-validated, and the file is replaced at once (rename). Creates no model that was not fitted
// there before (attune model fit). Takes seconds and a core, so nothing may be timed meanwhile.
// Fails as the store does; a model that cannot be fitted or written has the failure in its Refit,
// and the old one stays.
Result<std::vector<Refit>> RefitGrown(RecordStore& store, const std::string& database,
                                      const Target& target, const ModelOrigin& origin,
                                      const LaunchSource* launches);

// "The model of gemm was fitted again, to 240 times instead of 180: mean error 12.0 % on ...".
std::string Text(const Refit& refit);

}  // namespace attune
