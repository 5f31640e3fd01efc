// Shared options and main() of the benches of attune's choices.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "attune/base/status.h"
#include "attune/problem/problem.h"
#include "attune/record/record_store.h"
#include "attune/tuner/tuner.h"
#include "runtime/places.h"

namespace attune {

struct ChoiceOptions {
  std::string device = "cpu";
  std::string only;  // Selects problems by a part of their text; empty for all.
  size_t limit = 0;  // At most so many problems; 0 for all.
  int rounds = 25;   // In the final race.
  TuneOptions tune;
  bool json = false;
  bool problems_only = false;  // Print the problems and time nothing.
};

// The best candidate of a tuning of `problem`; kInternal if nothing could be timed.
Result<TuneReport> TuneForChoice(Tuner& tuner, const Problem& problem);

// The candidate of `solver` with the least median among the records of `problem`; nothing if none
// of it was timed.
std::optional<Candidate> BestTried(const std::string& solver, RecordStore& store,
                                   const Problem& problem);

// The actions of a bench after its options are read.
struct ChoiceBench {
  // The problems that the options select, in order.
  std::function<Result<std::vector<Problem>>()> problems;
  // Chooses for them, at least one, and prints.
  std::function<Status(const Place&, const std::vector<Problem>&)> run;
};

// The whole of main(): serves a race if this process was started for one. Otherwise adds the
// options above to `app`, which has those of the bench, and prints the problems or runs them on the
// device, which printing does not need. Returns the exit status; prints failures on standard error.
int ChoiceBenchMain(int argc, char** argv, CLI::App& app, ChoiceOptions& options,
                    const ChoiceBench& bench);

}  // namespace attune
