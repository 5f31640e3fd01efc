// Keeps the metrics of trials that have some beside their time: energy, or values that a kernel
// wrote.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/trial/candidate.h"
#include "attune/trial/figure.h"
#include "attune/trial/trial.h"

namespace attune {

// The objectives of a measurement set in its environment, best first: "energy", "time,error".
// Absent: time alone.
inline constexpr std::string_view kObjectiveTerm = "tuning.objective";

// A metric of the trial of `candidate` in `role` within a set.
struct TrialFigure {
  Candidate candidate;
  TrialRole role = TrialRole::kScreen;
  Objective objective;
  FigureValue figure;

  friend bool operator==(const TrialFigure&, const TrialFigure&) = default;
};

// kInvalidArgument if a number is not finite, the value not between its bounds, or a name empty.
Status Validate(const TrialFigure& figure);

// Thread-safe. Fails, and keeps acknowledged figures, as a RecordStore does.
class FigureStore {
 public:
  virtual ~FigureStore() = default;

  // All or nothing. kNotFound if the set does not exist.
  virtual Status AppendFigures(std::string_view set_id, std::span<const TrialFigure> figures) = 0;
  // In the order in which they were appended; none for a set without figures, or in a database from
  // before they were kept. kDataLoss if the database has lost some.
  virtual Result<std::vector<TrialFigure>> FiguresOf(std::string_view set_id) = 0;
};

// In memory, for tests. Knows every set. Not thread-safe.
class MemoryFigureStore final : public FigureStore {
 public:
  Status AppendFigures(std::string_view set_id, std::span<const TrialFigure> figures) override;
  Result<std::vector<TrialFigure>> FiguresOf(std::string_view set_id) override;

 private:
  std::map<std::string, std::vector<TrialFigure>, std::less<>> figures_;
};

}  // namespace attune
