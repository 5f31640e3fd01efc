#include "attune/model/launch_source.h"

namespace attune {

std::optional<LaunchProfile> LaunchSources::Find(const Problem& problem,
                                                 const Candidate& candidate) const {
  for (const LaunchSource* const source : sources_) {
    std::optional<LaunchProfile> found = source->Find(problem, candidate);
    if (found.has_value()) return found;
  }
  return std::nullopt;
}

std::optional<LaunchProfile> FindOneKernel(const LaunchSource& source, const Problem& problem,
                                           const Candidate& candidate) {
  std::optional<LaunchProfile> found = source.Find(problem, candidate);
  if (found.has_value() && found->kernels.size() != 1) found.reset();
  return found;
}

}  // namespace attune
