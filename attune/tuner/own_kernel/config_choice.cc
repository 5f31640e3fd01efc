#include "attune/tuner/own_kernel/config_choice.h"

#include <algorithm>

#include <fmt/format.h>

namespace attune {

std::string_view Name(ServedBy by) {
  if (by == ServedBy::kExact) return "exact";
  return by == ServedBy::kNearest ? "nearest" : "default";
}

ServedConfig ChooseConfig(const std::vector<TunedSize>& tuned, const kernel::OwnSizes& sizes,
                          const ConfigTrial& serves) {
  ServedConfig served;
  std::vector<Config> tried;
  for (const TunedSize* size : NearestFirst(tuned, sizes)) {
    if (std::find(tried.begin(), tried.end(), size->config) != tried.end()) continue;
    if (tried.size() == kMostConfigsTried) break;
    tried.push_back(size->config);
    const ServedBy by = size->sizes == sizes ? ServedBy::kExact : ServedBy::kNearest;
    if (const Status fits = serves(size->config, by); !fits.ok()) {
      served.passed_over.push_back(fmt::format("{}: {}", Text(size->config), fits.message()));
      continue;
    }
    served.config = size->config;
    served.by = by;
    served.tuned_for = size->sizes;
    break;
  }
  return served;
}

}  // namespace attune
