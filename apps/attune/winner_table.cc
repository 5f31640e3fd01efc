#include "apps/attune/winner_table.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "apps/attune/duration.h"
#include "apps/attune/labels.h"

namespace attune {
namespace {

std::vector<std::string> MeasuredRow(const std::string& label, const Choice& choice) {
  const bool won = choice.provenance == Provenance::kMeasured;
  return {label,
          Text(choice.candidate),
          FormatTime(choice.measurement.median_ns),
          FormatSpread(choice.measurement),
          FormatSpeedup(choice.speedup),
          won ? fmt::format("{:.2f}..{:.2f}", choice.speedup_low, choice.speedup_high) : "default",
          FormatRoofline(choice.roofline_fraction)};
}

std::string TotalLine(const NetworkTotal& total) {
  return fmt::format(
      "{} measured problem{}, each as often as its list has it: {} by default, {} tuned: {}.\n",
      total.problems, total.problems == 1 ? "" : "s", FormatTime(total.default_ns),
      FormatTime(total.tuned_ns), FormatSpeedup(total.default_ns / total.tuned_ns));
}

}  // namespace

Table WinnerTable(const std::vector<ChosenProblem>& problems) {
  using Align = Column::Align;
  using Fit = Column::Fit;
  Table table({{"problem", Align::kLeft, Fit::kCut},
               {"best candidate", Align::kLeft, Fit::kBelow},
               {"time", Align::kRight},
               {"interval", Align::kRight, Fit::kLeftOut},
               {"speed-up", Align::kRight},
               {"confident", Align::kRight},
               {"roofline", Align::kRight, Fit::kLeftOut}});
  for (const ChosenProblem& problem : problems) {
    const std::string label = Label(problem.tagged.problem);
    if (!problem.choice) {
      const char* state = NobodyTells(problem) ? "untuned" : "unsupported";
      table.AddRow({label, "(none)", "", "", "", state, ""}, Colour::kYellow);
    } else if (problem.choice->provenance == Provenance::kUntuned) {
      const char* state = problem.supported.ok() ? "untuned" : "unsupported";
      table.AddRow({label, Text(problem.choice->candidate), "", "", "", state, ""},
                   problem.supported.ok() ? Colour::kDim : Colour::kYellow);
    } else {
      const bool won = problem.choice->provenance == Provenance::kMeasured;
      table.AddRow(MeasuredRow(label, *problem.choice), won ? Colour::kGreen : Colour::kPlain);
    }
  }
  return table;
}

void PrintNotes(const ChosenProblem& problem, Output& err) {
  for (const std::string& note : {problem.baseline_note, problem.roofline_note}) {
    if (note.empty()) continue;
    err.Print(fmt::format("{}: {}\n", Label(problem.tagged.problem), note));
  }
}

void PrintIfThrottled(const std::vector<ChosenProblem>& problems, Output& err) {
  std::set<std::string> words;
  size_t count = 0;
  for (const ChosenProblem& problem : problems) {
    const std::vector<std::string> held_back_by = HeldBackBy(problem.conditions);
    words.insert(held_back_by.begin(), held_back_by.end());
    count += held_back_by.empty() ? 0 : 1;
  }
  if (count == 0) return;
  err.Print(fmt::format(
      "{} of {} problems were decided while the device held its clock back (throttled: {}); "
      "'attune explain' shows its clocks and its power.\n",
      count, problems.size(), fmt::join(words, ", ")));
}

NetworkTotal TotalOf(const std::vector<ChosenProblem>& problems) {
  NetworkTotal total;
  for (const ChosenProblem& problem : problems) {
    if (!problem.choice || problem.choice->provenance == Provenance::kUntuned) {
      ++total.left_out;
      continue;
    }
    const auto weight = static_cast<double>(problem.tagged.weight);
    const double tuned_ns = weight * problem.choice->measurement.median_ns;
    total.default_ns += tuned_ns * problem.choice->speedup;
    total.tuned_ns += tuned_ns;
    ++total.problems;
  }
  return total;
}

std::vector<ToldTotal> TotalsOf(const std::vector<ChosenProblem>& problems,
                                const std::vector<NetworkProblems>& networks) {
  if (networks.empty()) return {{std::nullopt, TotalOf(problems)}};
  std::map<std::string, const ChosenProblem*> by_text;
  for (const ChosenProblem& problem : problems) by_text[Text(problem.tagged.problem)] = &problem;
  std::vector<ToldTotal> totals;
  for (const auto& [network, tagged_problems] : networks) {
    std::vector<ChosenProblem> of_network;
    for (const TaggedProblem& tagged : tagged_problems) {
      const auto found = by_text.find(Text(tagged.problem));
      of_network.push_back(found == by_text.end() ? ChosenProblem() : *found->second);
      of_network.back().tagged.weight = tagged.weight;
    }
    totals.push_back({network, TotalOf(of_network)});
  }
  return totals;
}

std::string TotalLines(const std::vector<ToldTotal>& totals) {
  const bool is_any = std::any_of(totals.begin(), totals.end(),
                                  [](const ToldTotal& told) { return told.total.tuned_ns > 0; });
  if (!is_any) return "";
  std::string lines = "\n";
  for (const auto& [network, total] : totals) {
    if (totals.size() > 1) lines += fmt::format("{}: ", Printable(Label(*network)));
    lines += total.tuned_ns > 0 ? TotalLine(total)
                                : fmt::format("no problem of {} was measured.\n", total.left_out);
  }
  return lines;
}

}  // namespace attune
