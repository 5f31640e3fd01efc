#include "backends/onednn/thread_values.h"

#include "backends/onednn/onednn_adapter.h"

namespace attune::onednn {

std::vector<ParameterValue> ThreadValues(int compute_units) {
  std::vector<ParameterValue> values;
  if (!CanSetThreadCount()) return {ParameterValue(int64_t{1})};
  for (int64_t threads = compute_units; threads > 1; threads /= 2) values.emplace_back(threads);
  values.emplace_back(int64_t{1});
  return values;
}

bool RunsAfterFork(const Config& config) {
  return CanSetThreadCount() && IntegerAt(config, "threads") == 1;
}

}  // namespace attune::onednn
