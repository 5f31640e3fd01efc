// The options for one problem, best first, and the evidence behind them.
//
// A miss looks its problem up once (Dispatcher::Look) and ranks the options as far as it needs
// (Dispatcher::Rank): first what is ready, and all solvers only if nothing of that serves. Both
// rankings use the same forced choice, records and neighbours.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attune/base/status.h"
#include "attune/dispatch/forced_choice.h"
#include "attune/dispatch/plan.h"
#include "attune/dispatch/shortage.h"
#include "attune/problem/problem.h"
#include "attune/trial/candidate.h"
#include "attune/trial/choice_source.h"

namespace attune {

// How far a ranking goes.
enum class Breadth {
  // As kReady, but of a record the candidates behind the first one that is instant are left out.
  kFirst,
  // As kEnough, but solvers that are slow to create are not even asked whether they apply, unless
  // records of the problem itself name them: some take half a millisecond to list their parameters.
  kReady,
  kEnough,      // Until something that is ready at once stands behind the preferred option.
  kEverything,  // Every solver that applies, by its default.
};

// The options for a problem, as far as a ranking went.
struct Decision {
  // Preferred first. Never empty, but by kFirst and kReady where nothing is ready.
  std::vector<Option> options;
  // By kFirst and kReady alone: the default, or the choice of a neighbour, may be of a solver that
  // was not asked, because it is slow.
  bool is_provisional = false;
  // The first one is forced or rests on a record of this target, or such a record is left out after
  // a fork, or from a capture, alone.
  bool is_tuned = false;
  std::vector<std::string> skipped;  // Records that cannot be used here, and why.
};

// The newest valid choice of a tuned problem near another one.
struct NearChoice {
  Neighbour neighbour;
  IndexedChoice choice;
};

// The knowledge about one problem, and its options. Dispatcher::Look makes it, Dispatcher::Rank
// ranks the options; callers read `decision`.
struct Ranking {
  // True if a caller waits for the options, so slow solvers are not asked.
  bool is_hasty() const { return breadth == Breadth::kFirst || breadth == Breadth::kReady; }
  // True if `candidate` cannot be captured, and is left out for that alone.
  bool LeavesOut(const Candidate& candidate) const {
    return std::find(uncapturable.begin(), uncapturable.end(), candidate) != uncapturable.end();
  }

  // The question.
  Problem problem;
  const ChoiceSource* choices = nullptr;  // Borrowed.
  uint64_t workspace_limit_bytes = 0;
  Launches launches = Launches::kExecuted;

  // Looked up once.
  const ForcedChoices::Entry* forced = nullptr;  // Borrowed; null if nothing is forced.
  std::vector<std::string> unusable = {};        // ChoiceSource::Unusable().
  Result<std::vector<IndexedChoice>> recorded = std::vector<IndexedChoice>();
  // The nearest first; empty until a Rank() needs neighbours.
  std::optional<Result<std::vector<NearChoice>>> near = {};

  // The last Rank().
  std::optional<Breadth> breadth = {};  // Empty before the first one.
  bool is_cut = false;                  // True if kReady would add candidates of a record.
  Decision decision = {};
  std::vector<std::string> refused = {};  // Why solvers of the operator do not apply.
  bool has_applicable = false;            // True if one does.
  Shortage shortage = {};
  std::vector<Candidate> uncapturable = {};
};

}  // namespace attune
