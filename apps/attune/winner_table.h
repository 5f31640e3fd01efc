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

// A line that says how many problems were decided while the device held its clock back, and by
// what, if any were.
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

// A time that is told: of one network, or of the list where no network was selected.
struct ToldTotal {
  std::optional<Network> network;
  NetworkTotal total;
};

// One for each of `networks`, whose times are never added up, because nothing computes them all;
// one of all `problems` where there are none. A problem of a network that is not among `problems`,
// because it was imported since, is left out; one that is of no network counts for nothing.
std::vector<ToldTotal> TotalsOf(const std::vector<ChosenProblem>& problems,
                                const std::vector<NetworkProblems>& networks);

// "53 measured problems, each as often as its list has it: 12.3 ms by default, 10.1 ms tuned:
// 1.22x." between newlines; of several networks a line for each, which begins with its name. Empty
// if nothing was measured.
std::string TotalLines(const std::vector<ToldTotal>& totals);

}  // namespace attune
