#include "apps/attune/report/report_data.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "attune/base/unix_time.h"
#include "attune/verify/problem_data.h"

namespace attune {
namespace {

// The story that others are compared with: the choice if it took part in this set, else the
// fastest.
const Story* Yardstick(const std::vector<Story>& stories, const std::optional<Choice>& choice) {
  if (choice) {
    const Story* winner = FindStory(stories, choice->candidate);
    if (winner != nullptr && !winner->failure && !winner->only_qualified()) return winner;
  }
  if (stories.empty() || stories.front().failure || stories.front().only_qualified()) {
    return nullptr;
  }
  return &stories.front();
}

uint64_t ConfigCount(const Place& place, const SolverId& id, const Problem& problem) {
  const Solver* solver = FindSolver(place.backend->solvers(), id);
  if (solver == nullptr || !ProblemData::CheckMemory(problem).ok() ||
      !solver->IsApplicable(problem, place.target).ok()) {
    return 0;
  }
  const auto space = solver->Space(problem, place.target);
  return space.ok() ? space->size() : 0;
}

// Spaces of one set that are large enough, one for each solver.
std::vector<SpaceView> SpacesOf(const RecordedSet& set, const std::optional<Choice>& choice) {
  const std::vector<Story> stories = StoriesOf(set);
  const Story* winner = Yardstick(stories, choice);
  if (winner == nullptr) return {};
  std::map<SolverId, SpaceView> views;
  for (const Story& story : stories) {
    SpaceView& view = views[story.candidate.solver];
    ++view.tried;
    if (story.failure) ++view.failed;
    const auto ratio = story.failure ? std::nullopt : TimeAgainst(story, *winner);
    if (ratio) view.ratios.push_back(*ratio);
  }
  std::vector<SpaceView> large;
  for (auto& [solver, view] : views) {
    if (view.tried < SpaceView::kFewestConfigs || view.ratios.empty()) continue;
    view.problem = set.set.problem;
    view.solver = solver;
    std::sort(view.ratios.begin(), view.ratios.end());
    large.push_back(std::move(view));
  }
  return large;
}

// Collects over the sets of a list. If several sets tried the same space, keeps the one that timed
// most of it.
class Gatherer {
 public:
  explicit Gatherer(ReportData& data) : data_(data) {
    for (size_t i = 0; i < data.problems.size(); ++i) {
      by_text_[Text(data.problems[i].chosen.tagged.problem)] = i;
    }
  }

  void Add(const RecordedSet& set) {
    const std::string text = Text(set.set.problem);
    const auto found = by_text_.find(text);
    if (found == by_text_.end()) return;
    ReportProblem& problem = data_.problems[found->second];
    ++data_.sets;
    data_.trials += static_cast<int64_t>(set.records.size());
    CountFailures(set);
    const auto sought = set.set.environment.find(std::string(kObjectiveTerm));
    if (sought != set.set.environment.end()) sought_.insert({found->second, sought->second});
    const auto& choice = problem.chosen.choice;
    if (choice && choice->set_id == set.set.id) {
      problem.set = set.set;
      problem.stories = StoriesOf(set);
    }
    for (SpaceView& view : SpacesOf(set, choice)) {
      SpaceView& kept = spaces_[{found->second, view.solver}];
      if (view.ratios.size() > kept.ratios.size()) kept = std::move(view);
    }
  }

  Status AddTimelines(RecordStore& records) {
    for (ReportProblem& problem : data_.problems) {
      if (problem.stories.empty()) continue;
      ATTUNE_ASSIGN_OR_RETURN(problem.timelines, records.TimelinesOf(problem.set.id));
    }
    return Status::Ok();
  }

  Status AddFronts(RecordStore& records, FigureStore& figures) {
    for (const auto& [index, names] : sought_) {
      const Problem& problem = data_.problems[index].chosen.tagged.problem;
      ATTUNE_ASSIGN_OR_RETURN(auto front,
                              FindFront(records, figures, {problem, data_.place.target, names}));
      if (front.has_value() && front->objectives.size() == kMaxObjectives) {
        data_.fronts.push_back({problem, *std::move(front)});
      }
    }
    return Status::Ok();
  }

  void Finish() {
    for (auto& [key, view] : spaces_) {
      view.configs = ConfigCount(data_.place, view.solver, view.problem);
      data_.spaces.push_back(std::move(view));
    }
  }

 private:
  void CountFailures(const RecordedSet& set) {
    for (const Record& record : set.records) {
      const Failure* failure = record.trial.failure();
      if (failure == nullptr) continue;
      FailureCount& entry = data_.failures[{failure->kind, record.trial.candidate.solver}];
      if (entry.count++ == 0) {
        entry.example =
            fmt::format("{}: {}", Text(record.trial.candidate), Printable(failure->message));
      }
    }
  }

  ReportData& data_;
  std::map<std::string, size_t> by_text_;
  std::map<std::pair<size_t, SolverId>, SpaceView> spaces_;
  std::set<std::pair<size_t, std::string>> sought_;  // Objectives, by problem.
};

}  // namespace

Result<ReportData> GatherReport(RecordStore& store, const Place& place,
                                const ReportSubject& subject,
                                const std::vector<TaggedProblem>& problems) {
  ReportData data;
  data.title = subject.title;
  data.place = place;
  data.made_unix_ns = UnixNowNs();
  ChoiceQuery choices;
  choices.selection.tag = subject.tag;
  ATTUNE_ASSIGN_OR_RETURN(auto chosen, ChooseAll(store, place, choices, problems));
  data.totals = TotalsOf(chosen, subject.networks);
  for (ChosenProblem& problem : chosen) data.problems.push_back({std::move(problem), {}, {}, {}});
  Gatherer gatherer(data);
  RecordQuery query;
  query.backend = std::string(place.backend->name());
  query.with_samples = false;
  const auto add = [&](const RecordedSet& set) {
    gatherer.Add(set);
    return Status::Ok();
  };
  if (!subject.tag.empty()) {
    query.tag = subject.tag;
    ATTUNE_RETURN_IF_ERROR(store.Visit(query, add));
  } else {
    for (const TaggedProblem& tagged : problems) {
      query.problem = tagged.problem;
      ATTUNE_RETURN_IF_ERROR(store.Visit(query, add));
    }
  }
  gatherer.Finish();
  ATTUNE_RETURN_IF_ERROR(gatherer.AddTimelines(store));
  if (subject.figures != nullptr) {
    ATTUNE_RETURN_IF_ERROR(gatherer.AddFronts(store, *subject.figures));
  }
  return data;
}

}  // namespace attune
