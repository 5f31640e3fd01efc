// Transfer priors from the run's own records: where a search begins.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attune/base/status.h"
#include "attune/index/neighbour.h"
#include "attune/problem/problem.h"
#include "attune/problem/target.h"
#include "attune/record/record_store.h"
#include "attune/trial/candidate.h"
#include "attune/tuner/candidate_times.h"

namespace attune {

// Other device contexts are other devices of the same backend, for the same problem, and this
// device, for the nearest problems of the same family that it was tuned for. Keeps the records of
// sizes that it read, so that asking for many problems reads a database once. Not thread-safe.
class OtherPlaces {
 public:
  // A store with more than `most_revisions` since the last read gives no priors of other sizes up
  // to then: reading it would take longer than a problem has.
  explicit OtherPlaces(Target here, int64_t most_revisions = 50'000)
      : here_(std::move(here)), most_revisions_(most_revisions) {}

  // Fails as the store does. REQUIRES: the same store each time.
  Result<TimesOfPlaces> Find(RecordStore& store, const Problem& problem);

  // Maximum number of other sizes, and their maximum distance (Distance): each factor of 2 in a
  // size is 1.
  static constexpr size_t kSizes = 3;
  static constexpr double kFarthest = 2;

 private:
  // The finals of one problem on this device.
  struct Size {
    Problem problem;
    Position position = {};
    CandidateTimes times_ns;
  };

  Status ReadDevices(RecordStore& store, const Problem& problem, TimesOfPlaces& times) const;
  Status ReadNewSizes(RecordStore& store);
  void AddSizes(const Problem& problem, TimesOfPlaces& times) const;

  Target here_;
  int64_t most_revisions_;
  std::map<std::string, std::vector<Size>> sizes_;  // By family.
  std::map<Fingerprint, size_t> places_of_sizes_;   // By KeyOf the problem, within its family.
  int64_t read_up_to_ = 0;                          // A revision.
};

}  // namespace attune
