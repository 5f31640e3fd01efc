#include "backends/host/gemm/work_split.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

#include "attune/ops/gemm/gemm.h"

namespace attune::host {
namespace {

constexpr std::array<std::pair<WorkSplit, std::string_view>, 6> kNames = {{
    {WorkSplit::kNone, "none"},
    {WorkSplit::kLibrary, "library"},
    {WorkSplit::kRows, "rows"},
    {WorkSplit::kColumns, "columns"},
    {WorkSplit::kDepth, "depth"},
    {WorkSplit::kBatch, "batch"},
}};

// Below these there is less than one register tile for each of two threads, or the sum of the parts
// costs more than the parts.
constexpr int64_t kFewestRows = 32;
constexpr int64_t kFewestColumns = 8;
constexpr int64_t kLeastDepth = 256;

}  // namespace

std::string_view Name(WorkSplit split) {
  for (const auto& [value, name] : kNames) {
    if (value == split) return name;
  }
  return "none";
}

WorkSplit ParseWorkSplit(std::string_view name) {
  for (const auto& [value, known] : kNames) {
    if (known == name) return value;
  }
  assert(false && "the config is not out of a space of this backend");
  return WorkSplit::kNone;
}

Division DivisionOf(const Config& config) {
  return {ParseWorkSplit(StringAt(config, "split")),
          static_cast<int>(IntegerAt(config, "threads"))};
}

std::vector<ParameterValue> ThreadValues(int compute_units) {
  const int64_t most = std::max(compute_units, 1);
  std::vector<ParameterValue> values;
  for (int64_t threads = 1; threads < most; threads *= 2) values.emplace_back(threads);
  values.emplace_back(most);
  std::reverse(values.begin(), values.end());
  return values;
}

std::vector<WorkSplit> UsefulSplits(const Gemm& gemm) {
  std::vector<WorkSplit> splits;
  if (gemm.batch_count > 1) splits.push_back(WorkSplit::kBatch);
  const bool columns_first = gemm.n >= gemm.m;
  if (columns_first && gemm.n >= kFewestColumns) splits.push_back(WorkSplit::kColumns);
  if (gemm.m >= kFewestRows) splits.push_back(WorkSplit::kRows);
  if (!columns_first && gemm.n >= kFewestColumns) splits.push_back(WorkSplit::kColumns);
  if (gemm.k >= kLeastDepth) splits.push_back(WorkSplit::kDepth);
  return splits;
}

SpaceDescription DescribeDivision(const Target& target, const std::vector<WorkSplit>& splits) {
  if (target.compute_units <= 1 || splits.empty()) {
    return {{{"threads", {int64_t{1}}}, {"split", {std::string("none")}}}, {}};
  }
  Parameter split{"split", {}};
  for (const WorkSplit value : splits) split.values.emplace_back(std::string(Name(value)));
  split.values.emplace_back(std::string(Name(WorkSplit::kNone)));
  // Not a parsed text: first calls ask for it.
  Constraint rule;
  rule.names = {"threads", "split"};
  rule.text = "(threads == 1) == (split == \"none\")";
  rule.holds = [](const Expression::Lookup& at) -> Result<bool> {
    const bool one_thread = std::get<int64_t>(*at("threads")) == 1;
    return one_thread == (std::get<std::string>(*at("split")) == Name(WorkSplit::kNone));
  };
  return {{{"threads", ThreadValues(target.compute_units)}, std::move(split)}, {std::move(rule)}};
}

}  // namespace attune::host
