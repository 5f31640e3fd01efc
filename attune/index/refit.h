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

// A model is fitted again once there are so many times as many times as it was fitted to: a fifth
// more of them moves what is predicted by less than its range, and a fit takes a second.
inline constexpr double kRefitGrowth = 1.2;

// What became of one model.
struct Refit {
  std::string operator_name;
  std::filesystem::path path;
  size_t samples_before = 0;  // 0: what was there could not be used any more.
  size_t samples = 0;
  // Of another one, fitted without a tenth of the configurations, on these.
  std::optional<ModelScore> held_out;
};

// Fits anew each model beside `database` that is of `origin` and whose times have grown: of records
// on `target` in `store`, with the launches that `launches`, which may be null, knows. Each fit is
// cross-validated, and the file is replaced at once (rename). A model that nobody has fitted there
// before (attune model fit) is none of its business. Takes seconds and a core, so nothing may be
// timed meanwhile. Fails as the store does; a model that cannot be fitted or written is a failure
// of it, and the old one stays.
Result<std::vector<Refit>> RefitGrown(RecordStore& store, const std::string& database,
                                      const Target& target, const ModelOrigin& origin,
                                      const LaunchSource* launches);

// "The model of gemm was fitted again, to 240 times instead of 180: mean error 12.0 % on ...".
std::string Text(const Refit& refit);

}  // namespace attune
