// Findings as texts that tests compare.
#pragma once

#include <string>
#include <vector>

#include <fmt/format.h>

#include "attune/formats/miopen/finding.h"

namespace attune::miopen {

// "3 bad_key" for each, in their order.
inline std::vector<std::string> PlacesOf(const Findings& findings) {
  std::vector<std::string> places;
  for (const Finding& finding : findings.kept()) {
    places.push_back(fmt::format("{} {}", finding.line, Name(finding.kind)));
  }
  return places;
}

}  // namespace attune::miopen
