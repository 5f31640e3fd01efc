// The table of winners, as `tune` and `best` end with it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "apps/attune/choices.h"
#include "apps/attune/table.h"

namespace attune {

// One row for each problem: problem, candidate, time with its interval, speed-up over the default
// with its interval, share of the roofline.
Table WinnerTable(const std::vector<ChosenProblem>& problems);

// A line that says that the speed-up is not over the usual default, if it is not.
void PrintNotes(const ChosenProblem& problem, Output& err);

// If any problems were decided while the device was throttled, prints a line with their number and
// the reasons.
void PrintIfThrottled(const std::vector<ChosenProblem>& problems, Output& err);

// Time of the whole list, each problem as often as the list has it: default and tuned. Only
// problems that were measured count. The default's time is the tuned one times the speed-up, which
// is of pairs of one round each: the ratio of the two medians would be a second speed-up, and in
// noisy rounds another one.
struct NetworkTotal {
  double default_ns = 0;
  double tuned_ns = 0;
  int64_t problems = 0;
  int64_t left_out = 0;
};
NetworkTotal TotalOf(const std::vector<ChosenProblem>& problems);

// A printed total: of one network, or of the list where no network was selected.
struct ToldTotal {
  std::optional<Network> network;
  NetworkTotal total;
};

// One for each of `networks`: their times are never added up, because no program computes them all.
// One for all `problems` if there are no networks. Leaves out a network's problem that is not among
// `problems`, because it was imported since; ignores one that is of no network.
std::vector<ToldTotal> TotalsOf(const std::vector<ChosenProblem>& problems,
                                const std::vector<NetworkProblems>& networks);

// "53 measured problems, each as often as its list has it: 12.3 ms by default, 10.1 ms tuned:
// 1.22x." between newlines; of several networks a line for each, which begins with its name. Empty
// if nothing was measured.
std::string TotalLines(const std::vector<ToldTotal>& totals);

}  // namespace attune
