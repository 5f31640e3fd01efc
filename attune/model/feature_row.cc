#include "attune/model/feature_row.h"

#include <fmt/format.h>

namespace attune {

Fingerprint FingerprintOf(const FeatureSet& features) {
  std::string text = features.name;
  for (const std::string& name : features.operation) (text += '\n') += name;
  text += '\n';
  for (const std::string& name : features.kernel) (text += '\n') += name;
  text += fmt::format("\n{} {}", features.linear_operation, features.linear_kernel);
  return FingerprintOf(text);
}

}  // namespace attune
