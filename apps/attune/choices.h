// The best choice for each problem of a list, from the records that are valid here.
#pragma once

#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "apps/attune/application.h"
#include "apps/attune/problem_argument.h"
#include "apps/attune/session/record_place.h"
#include "attune/base/status.h"
#include "attune/record/record_store.h"
#include "attune/record/select.h"

namespace attune {

// Checks that a solver of this build, other than plain references, computes a problem on a device
// of this machine, and that its answer can be verified. Thread-safe.
class SupportCheck {
 public:
  // Borrows `backends`. Lists the devices of a backend only if no earlier backend computes a
  // problem.
  explicit SupportCheck(const BackendList& backends) : backends_(backends) {}

  // Ok, or the reason of the solver that came closest.
  Status Check(const Problem& problem);

 private:
  // The first usable device of a backend, which has it from the list.
  struct Side {
    const Backend* backend;
    Target target;
  };
  // Null behind the last one.
  const Side* SideAt(size_t index);

  const BackendList& backends_;
  std::mutex mutex_;        // Guards the members below.
  size_t asked_ = 0;        // Backends with listed devices.
  std::deque<Side> sides_;  // Which stay where they are.
};

// The solver that computes `problem` at `place` if nothing is tuned, with its default config;
// nothing if none applies, or if the problem does not fit into memory.
std::optional<Candidate> DefaultCandidate(const Place& place, const Problem& problem);

// Ok if there is something to tune where `usual` is the default candidate of a problem at `place`.
// kUnsupported if there is no default, if only a plain reference computes the problem, if it does
// not fit into memory, or if no answer to it can be checked. kUnavailable if there is none because
// the device of `place` is not here.
Status CheckTunable(const Place& place, const Problem& problem,
                    const std::optional<Candidate>& usual);

// A problem with the answer.
struct ChosenProblem {
  TaggedProblem tagged;
  Status supported;  // At the place that was asked for, by more than a reference.
  // Untuned: the default, unmeasured. Nothing if none applies, or if it is unknown (NobodyTells).
  std::optional<Choice> choice;
  std::vector<std::string> notes;  // Why sets were passed over.
  std::string baseline_note;       // See BaselineNote.
  std::string roofline_note;       // See RooflineNote.
  SetConditions conditions;        // Around the final that decided.
};

// True if nothing is known of the problem because its device is not here to give a default.
bool NobodyTells(const ChosenProblem& problem);

// The highest peaks that any of `sets` knows of the machine at `place`.
Peaks HighestPeaks(std::span<const RecordedSet> sets, const Place& place);

// The fraction of the roofline by `peaks` that the choice reaches; 0 if unknown.
double RooflineFraction(const Choice& choice, const Peaks& peaks);

// Why the baseline of `choice` is not the default of the first solver that applies, a sentence: a
// speed-up over the next one says less. Empty if it is, or was when it was measured.
Result<std::string> BaselineNote(RecordStore& store, const Place& place, const Choice& choice);

// Which records may decide.
struct ChoiceQuery {
  ProblemSelection selection;       // A tag is read at once, others by name.
  std::optional<CacheState> cache;  // Nothing: the newest measurement of any kind.
};

// One for each problem, in order. Fractions of the roofline are by the highest peaks that any of
// the sets of these problems knows of this machine.
Result<std::vector<ChosenProblem>> ChooseAll(RecordStore& store, const Place& place,
                                             const ChoiceQuery& choices,
                                             const std::vector<TaggedProblem>& problems);

// The best choices for the selected problems, at FindRecordPlace(`device`).
struct ChosenList {
  RecordPlace where;
  RecordStore* store = nullptr;  // Borrowed from the application.
  std::vector<ChosenProblem> problems;
  std::vector<NetworkProblems> networks;  // SelectedNetworks.
};
Result<ChosenList> ChooseSelected(Application& application, const std::string& device,
                                  const ChoiceQuery& choices);

}  // namespace attune
