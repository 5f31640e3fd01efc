// Sources of a candidate's launches before it runs. Models see the launches, and no device.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "attune/model/launch_profile.h"
#include "attune/problem/problem.h"
#include "attune/trial/candidate.h"

namespace attune {

class LaunchSource {
 public:
  virtual ~LaunchSource() = default;

  // The launches of `candidate` for `problem`; nothing where this source does not know them.
  virtual std::optional<LaunchProfile> Find(const Problem& problem,
                                            const Candidate& candidate) const = 0;
};

// Several, best first: the first that knows answers. Borrows them.
class LaunchSources final : public LaunchSource {
 public:
  explicit LaunchSources(std::vector<const LaunchSource*> sources) : sources_(std::move(sources)) {}

  std::optional<LaunchProfile> Find(const Problem& problem,
                                    const Candidate& candidate) const override;

 private:
  const std::vector<const LaunchSource*> sources_;
};

// Returns the launches that `source` knows of a candidate that is one kernel; nothing for others.
std::optional<LaunchProfile> FindOneKernel(const LaunchSource& source, const Problem& problem,
                                           const Candidate& candidate);

}  // namespace attune
