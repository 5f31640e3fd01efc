// Data of a report, gathered from the records; no text and no drawing yet.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "apps/attune/choices.h"
#include "apps/attune/story.h"
#include "apps/attune/winner_table.h"
#include "attune/record/figure_store.h"
#include "attune/record/front.h"
#include "attune/record/record_store.h"

namespace attune {

// A space that was tried widely enough to draw.
struct SpaceView {
  static constexpr size_t kFewestConfigs = 100;  // Tried, of which some may have failed.

  Problem problem;
  SolverId solver;
  uint64_t configs = 0;  // Size of the space; 0 if the solver is not in this program.
  size_t tried = 0;
  size_t failed = 0;
  std::vector<double> ratios;  // Time of each timed config over that of the winner, ascending.
};

// A problem with its choice and everything that took part in it.
struct ReportProblem {
  ChosenProblem chosen;
  MeasurementSet set;               // The one that decided; meaningless without stories.
  std::vector<Story> stories;       // For that set, in the order of StoriesOf.
  std::vector<Timeline> timelines;  // For that set.
};

// A problem that was tuned for two objectives.
struct FrontView {
  Problem problem;
  ObjectiveFront front;
};

struct FailureCount {
  int64_t count = 0;
  std::string example;  // Candidate and message of one.
};

struct ReportData {
  std::string title;
  Place place;
  int64_t made_unix_ns = 0;
  std::vector<ReportProblem> problems;
  std::vector<ToldTotal> totals;
  std::vector<SpaceView> spaces;
  std::vector<FrontView> fronts;  // The newest of each pair of objectives.
  // Over all sets of the list, by kind and solver.
  std::map<std::pair<FailureKind, SolverId>, FailureCount> failures;
  int64_t sets = 0;
  int64_t trials = 0;
};

// The subject of a page.
struct ReportSubject {
  std::string title;
  std::string tag;  // If the problems are those of one: read at once, then.
  std::vector<NetworkProblems> networks = {};  // TotalsOf.
  FigureStore* figures = nullptr;              // In the same database; null: no fronts.
};

// Reads everything that the store has of `problems` on the backend of `place`.
Result<ReportData> GatherReport(RecordStore& store, const Place& place,
                                const ReportSubject& subject,
                                const std::vector<TaggedProblem>& problems);

}  // namespace attune
