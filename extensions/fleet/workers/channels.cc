#include "extensions/fleet/workers/channels.h"

#include <fmt/format.h>

#include "attune/problem/target.h"

namespace attune {

Channel ChannelOf(const SessionTerms& terms, const JobStep& step) {
  if (step.work == JobWork::kMeasure && terms.target.has_value()) {
    return {fmt::format("{} {}", Text(*terms.target), Text(terms.fixed)), step};
  }
  Target any;
  any.backend = terms.backend;
  any.arch = terms.arch;
  return {Text(any), step};
}

}  // namespace attune
