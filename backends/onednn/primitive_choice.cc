#include "backends/onednn/primitive_choice.h"

#include <algorithm>

#include "backends/onednn/thread_values.h"

namespace attune::onednn {
namespace {

// The order of first appearance is the order of preference.
void AddValue(Parameter& parameter, const std::string& value) {
  auto& values = parameter.values;
  if (std::find(values.begin(), values.end(), ParameterValue(value)) == values.end()) {
    values.emplace_back(value);
  }
}

}  // namespace

bool IsReference(const std::string& implementation) {
  return implementation.starts_with("ref") || implementation.starts_with("bnorm_ref");
}

void PrimitiveChoices::Add(const PrimitiveChoice& choice, Formats formats) {
  auto key = std::pair(choice.implementation, std::move(formats));
  if (std::find(seen_.begin(), seen_.end(), key) != seen_.end()) return;
  seen_.push_back(std::move(key));
  std::vector<PrimitiveChoice>& list = IsReference(choice.implementation) ? slow_ : fast_;
  if (std::find(list.begin(), list.end(), choice) == list.end()) list.push_back(choice);
}

std::vector<PrimitiveChoice> PrimitiveChoices::Take() {
  if (fast_.empty() && !slow_.empty()) fast_.push_back(std::move(slow_.front()));
  return std::move(fast_);
}

Result<ConfigSpace> SpaceOf(std::vector<PrimitiveChoice> choices, int compute_units) {
  Parameter implementation{"impl", {}};
  Parameter layout{"layout", {}};
  for (const PrimitiveChoice& choice : choices) {
    AddValue(implementation, choice.implementation);
    AddValue(layout, choice.layout);
  }
  Constraint exists;
  exists.names = {"impl", "layout"};
  exists.text = "oneDNN offers impl for this layout";
  exists.holds = [choices = std::move(choices)](const Expression::Lookup& at) -> Result<bool> {
    const PrimitiveChoice wanted{std::get<std::string>(*at("impl")),
                                 std::get<std::string>(*at("layout"))};
    return std::find(choices.begin(), choices.end(), wanted) != choices.end();
  };
  return ConfigSpace::Create(
      {std::move(implementation), std::move(layout), {"threads", ThreadValues(compute_units)}},
      {std::move(exists)});
}

Config ConfigOf(const PrimitiveChoice& choice, int compute_units) {
  return Config{{"impl", choice.implementation},
                {"layout", choice.layout},
                {"threads", ThreadValues(compute_units).front()}};
}

}  // namespace attune::onednn
