// attune session diff: compares the terms and the results of two sessions.

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "apps/attune/duration.h"
#include "apps/attune/json_text.h"
#include "apps/attune/labels.h"
#include "apps/attune/session/session_choices.h"
#include "apps/attune/table.h"
#include "extensions/fleet/fleet_verbs.h"

namespace attune {
namespace {

struct DiffOptions {
  std::string first;
  std::string second;
  bool json = false;
};

using Choices = std::map<SessionQuestion, SessionChoice>;

// One line for each field that differs.
std::vector<std::string> TermDifferences(const Session& a, const Session& b) {
  std::vector<std::string> lines;
  const auto target = [](const Session& session) {
    return session.terms.target ? Text(*session.terms.target) : session.terms.arch;
  };
  if (target(a) != target(b)) {
    lines.push_back(fmt::format("device: {} | {}", target(a), target(b)));
  }
  std::set<std::string> fields;
  for (const auto& [field, value] : a.terms.fixed) fields.insert(field);
  for (const auto& [field, value] : b.terms.fixed) fields.insert(field);
  const auto value_of = [](const Session& session, const std::string& field) {
    const auto found = session.terms.fixed.find(field);
    return found == session.terms.fixed.end() ? std::string("(none)") : found->second;
  };
  for (const std::string& field : fields) {
    if (value_of(a, field) == value_of(b, field)) continue;
    lines.push_back(fmt::format("{}: {} | {}", field, value_of(a, field), value_of(b, field)));
  }
  return lines;
}

// The solvers that a session knows.
struct KnownSolvers {
  std::string session;
  SolverTable table;

  // The solvers are unknown until they were first queried.
  bool is_known() const { return table.generation > 0; }
};

std::vector<std::string> SolverDifferences(const KnownSolvers& first, const KnownSolvers& second) {
  if (!first.is_known() || !second.is_known()) {
    if (first.is_known() == second.is_known()) return {};
    const std::string& unknown = (first.is_known() ? second : first).session;
    return {
        fmt::format("The solvers of session '{}' were never asked, so nobody knows how they "
                    "differ; 'attune applicability --session {}' asks them.",
                    Printable(unknown), ShellWord(unknown))};
  }
  const SolverTable& a = first.table;
  const SolverTable& b = second.table;
  std::vector<std::string> lines;
  for (const SolverEntry& entry : a.entries) {
    const std::string reason = ReasonStale(entry, FindEntry(b, entry.solver.name));
    if (!reason.empty()) lines.push_back(reason);
  }
  for (const SolverEntry& entry : b.entries) {
    if (FindEntry(a, entry.solver.name) == nullptr) {
      lines.push_back(fmt::format("{} is new.", Text(entry.solver)));
    }
  }
  return lines;
}

// Both sessions' answers to one question; one of them may have none.
struct Pair {
  std::string problem;
  CacheState cache = CacheState::kWarm;
  const Choice* first = nullptr;
  const Choice* second = nullptr;

  // Time of the first over that of the second; nothing if one is missing.
  std::optional<double> Ratio() const {
    if (first == nullptr || second == nullptr || second->measurement.median_ns <= 0) {
      return std::nullopt;
    }
    return first->measurement.median_ns / second->measurement.median_ns;
  }
  // Equal if the intervals touch: days differ by more than their noise.
  std::string_view Word() const {
    if (first == nullptr) return "new";
    if (second == nullptr) return "gone";
    if (second->measurement.high_ns < first->measurement.low_ns) return "faster";
    if (second->measurement.low_ns > first->measurement.high_ns) return "slower";
    return "equal";
  }
};

std::vector<Pair> PairsOf(const Choices& a, const Choices& b) {
  std::map<SessionQuestion, Pair> pairs;
  for (const auto& [question, choice] : a) pairs[question].first = &choice.choice;
  for (const auto& [question, choice] : b) pairs[question].second = &choice.choice;
  std::vector<Pair> list;
  for (auto& [question, pair] : pairs) {
    std::tie(pair.problem, pair.cache) = question;
    list.push_back(pair);
  }
  return list;
}

double GeometricMean(const std::vector<Pair>& pairs, size_t& count) {
  double sum = 0;
  count = 0;
  for (const Pair& pair : pairs) {
    if (const auto ratio = pair.Ratio()) {
      sum += std::log(*ratio);
      ++count;
    }
  }
  return count == 0 ? 1 : std::exp(sum / static_cast<double>(count));
}

Json DiffJson(const std::vector<std::string>& terms, const std::vector<std::string>& solvers,
              const std::vector<Pair>& pairs) {
  Json list = Json::array();
  const auto candidate = [](const Choice* choice) {
    return choice != nullptr ? Json(Text(choice->candidate)) : Json(nullptr);
  };
  const auto median = [](const Choice* choice) {
    return choice != nullptr ? Json(choice->measurement.median_ns) : Json(nullptr);
  };
  for (const Pair& pair : pairs) {
    list.push_back({{"problem", pair.problem},
                    {"cache", Name(pair.cache)},
                    {"change", pair.Word()},
                    {"first", candidate(pair.first)},
                    {"second", candidate(pair.second)},
                    {"first_ns", median(pair.first)},
                    {"second_ns", median(pair.second)}});
  }
  size_t count = 0;
  const double mean = GeometricMean(pairs, count);
  return {{"terms", terms},
          {"solvers", solvers},
          {"problems", std::move(list)},
          {"speedup_geometric_mean", count == 0 ? Json(nullptr) : Json(mean)}};
}

void PrintPairs(const std::vector<Pair>& pairs, Output& out) {
  Table table({{"change"},
               {"first", Column::Align::kRight},
               {"second", Column::Align::kRight},
               {"ratio", Column::Align::kRight},
               {"caches"},
               {"problem", Column::Align::kLeft, Column::Fit::kCut}});
  const auto time = [](const Choice* choice) {
    return choice != nullptr ? FormatTime(choice->measurement.median_ns) : std::string("-");
  };
  std::map<std::string_view, int> counts;
  for (const Pair& pair : pairs) {
    ++counts[pair.Word()];
    const auto ratio = pair.Ratio();
    const Choice& known = pair.first != nullptr ? *pair.first : *pair.second;
    table.AddRow(
        {std::string(pair.Word()), time(pair.first), time(pair.second),
         ratio ? FormatSpeedup(*ratio) : "-", std::string(Name(pair.cache)), Label(known.problem)},
        pair.Word() == "slower" ? Colour::kYellow : Colour::kPlain);
  }
  out.Print(table.Render(out.screen(), out.width()));
  std::string text;
  for (const auto& [word, count] : counts) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, word);
  }
  size_t count = 0;
  const double mean = GeometricMean(pairs, count);
  if (count > 0) {
    text +=
        fmt::format("; the second takes 1/{:.3f} of the time (geometric mean of {})", mean, count);
  }
  out.Print("\n" + text + ".\n");
}

Result<int> RunDiff(Application& application, const DiffOptions& options) {
  ATTUNE_ASSIGN_OR_RETURN(RecordStore * records, application.StoreToRead());
  if (application.sessions() == nullptr) return NotFound("There are no sessions yet.");
  SessionStore& sessions = *application.sessions();
  ATTUNE_ASSIGN_OR_RETURN(const Session a, sessions.Find(options.first));
  ATTUNE_ASSIGN_OR_RETURN(const Session b, sessions.Find(options.second));
  ATTUNE_ASSIGN_OR_RETURN(SolverTable solvers_a, sessions.Solvers(a.id));
  ATTUNE_ASSIGN_OR_RETURN(SolverTable solvers_b, sessions.Solvers(b.id));
  ATTUNE_ASSIGN_OR_RETURN(const Choices choices_a, ChoicesOf(a, *records, sessions));
  ATTUNE_ASSIGN_OR_RETURN(const Choices choices_b, ChoicesOf(b, *records, sessions));
  const auto terms = TermDifferences(a, b);
  const auto solvers =
      SolverDifferences({a.name, std::move(solvers_a)}, {b.name, std::move(solvers_b)});
  const auto pairs = PairsOf(choices_a, choices_b);
  Output& out = application.out();
  if (options.json) {
    out.Print(Dump(DiffJson(terms, solvers, pairs)));
    return kExitDone;
  }
  for (const std::string& line : terms) out.Print(Printable(line) + "\n");
  for (const std::string& line : solvers) out.Print(Printable(line) + "\n");
  if (terms.empty() && solvers.empty()) {
    out.Print("Both are for the same device, libraries and solvers.\n");
  }
  if (pairs.empty()) {
    out.Print("Neither has decided a problem yet.\n");
  } else {
    PrintPairs(pairs, out);
  }
  return kExitDone;
}

}  // namespace

void AddSessionDiffVerb(CLI::App& session, Invocation& invocation) {
  auto options = std::make_shared<DiffOptions>();
  CLI::App* verb = AddVerb(session, "diff",
                           "Compare two sessions: devices, libraries, solvers, and what each found",
                           "  attune session diff may june --json");
  verb->add_option("first", options->first, "A session")
      ->required()
      ->check(NameWithin(kMaxSessionNameBytes))
      ->type_name("NAME");
  verb->add_option("second", options->second, "Another one")
      ->required()
      ->check(NameWithin(kMaxSessionNameBytes))
      ->type_name("NAME");
  AddJsonFlag(*verb, options->json);
  verb->callback([options, &invocation] {
    invocation.run = [options](Application& application) { return RunDiff(application, *options); };
  });
}

}  // namespace attune
