#include "attune/model/shape_features.h"

#include <fmt/format.h>

#include "attune/base/text.h"
#include "attune/model/launch_features.h"
#include "attune/ops/registry.h"

namespace attune {
namespace {

constexpr size_t kLinear = 3;  // One, flops, bytes.

}  // namespace

Result<FeatureSet> ShapeFeatures(std::string_view operator_name) {
  const Operator* const op = FindOperator(operator_name);
  if (op == nullptr) {
    return Unsupported(fmt::format("There are no features of the operator '{}'; it is not known.",
                                   Excerpt(operator_name)));
  }
  FeatureSet features;
  features.linear_operation = kLinear;
  features.name = op->FeaturesName();
  features.operation = op->FeatureNames();
  return features;
}

Result<std::string_view> OperatorOfFeatures(std::string_view name) {
  for (const Operator* op : Operators()) {
    ATTUNE_ASSIGN_OR_RETURN(const FeatureSet features, FeaturesCalled(name, op->name()));
    if (features.name == name) return op->name();
  }
  return Unsupported(
      fmt::format("The model is of features '{}', which are not of shapes alone, so it cannot be "
                  "asked about a problem.",
                  Excerpt(name)));
}

FeatureRow ShapeRow(const Problem& problem, const std::string& algorithm) {
  return {algorithm, problem.op().FeatureValues(problem), {}};
}

}  // namespace attune
