#include "attune/record/front.h"

#include <algorithm>
#include <utility>

namespace attune {
namespace {

// Above 0 if `a` is better.
double Advantage(double a, double b, const Objective& objective) {
  return objective.direction == Direction::kMinimize ? b - a : a - b;
}

std::vector<double> ValuesOf(const FrontPoint& point) {
  std::vector<double> values;
  for (const FigureValue& figure : point.figures) values.push_back(figure.value);
  return values;
}

FigureValue TimeOf(const Measurement& time) {
  return {time.median_ns, time.low_ns, time.high_ns, time.confidence,
          static_cast<int64_t>(std::max<size_t>(time.samples_ns.size(), 1))};
}

// The objectives of a set, with directions and units as its figures have them.
std::vector<Objective> ObjectivesOf(std::string_view names, std::span<const TrialFigure> figures) {
  std::vector<Objective> objectives;
  while (!names.empty()) {
    const size_t end = std::min(names.find(','), names.size());
    Objective objective{std::string(names.substr(0, end)), Direction::kMinimize, ""};
    if (objective.name == kTimeObjective) objective = TimeObjective();
    const auto found = std::find_if(figures.begin(), figures.end(), [&](const auto& figure) {
      return figure.objective.name == objective.name;
    });
    if (found != figures.end()) objective = found->objective;
    objectives.push_back(std::move(objective));
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  return objectives;
}

// Nothing if one of its metrics is missing.
std::optional<FrontPoint> PointOf(const Trial& trial, std::span<const TrialFigure> figures,
                                  std::span<const Objective> objectives) {
  if (trial.measurement() == nullptr) return std::nullopt;
  FrontPoint point;
  point.candidate = trial.candidate;
  point.is_default = trial.is_default;
  for (const Objective& objective : objectives) {
    if (objective.name == kTimeObjective) {
      point.figures.push_back(TimeOf(*trial.measurement()));
      continue;
    }
    const auto found = std::find_if(figures.begin(), figures.end(), [&](const auto& figure) {
      return figure.objective.name == objective.name && figure.role == trial.role &&
             figure.candidate == trial.candidate;
    });
    if (found == figures.end()) return std::nullopt;
    point.figures.push_back(found->figure);
  }
  return point;
}

// Results of the final; for candidates outside of the final, their earlier results.
void AddPoints(const RecordedSet& recorded, std::span<const TrialFigure> figures,
               ObjectiveFront& front) {
  for (const TrialRole role : {TrialRole::kFinal, TrialRole::kScreen}) {
    if (role == TrialRole::kScreen && front.points.empty()) return;
    for (const Record& record : recorded.records) {
      const bool is_there = std::any_of(
          front.points.begin(), front.points.end(),
          [&](const FrontPoint& point) { return point.candidate == record.trial.candidate; });
      if (record.trial.role != role || is_there) continue;
      auto point = PointOf(record.trial, figures, front.objectives);
      if (!point.has_value()) continue;
      point->is_final = role == TrialRole::kFinal;
      front.points.push_back(*std::move(point));
    }
  }
}

void SortByFront(ObjectiveFront& front) {
  std::vector<std::vector<double>> values;
  for (const FrontPoint& point : front.points) {
    if (point.is_final) values.push_back(ValuesOf(point));
  }
  std::vector<FrontPoint> sorted;
  for (const size_t i : ParetoFront(values, front.objectives)) {
    front.points[i].is_on_front = true;
    sorted.push_back(front.points[i]);
  }
  std::erase_if(front.points, [](const FrontPoint& point) { return point.is_on_front; });
  std::stable_sort(front.points.begin(), front.points.end(), [&](const auto& a, const auto& b) {
    return Advantage(a.figures[0].value, b.figures[0].value, front.objectives[0]) > 0;
  });
  sorted.insert(sorted.end(), front.points.begin(), front.points.end());
  front.points = std::move(sorted);
}

}  // namespace

std::string Text(std::span<const Objective> objectives) {
  std::string text;
  for (const Objective& objective : objectives) {
    if (!text.empty()) text += ',';
    text += objective.name;
  }
  return text;
}

bool Dominates(std::span<const double> a, std::span<const double> b,
               std::span<const Objective> objectives) {
  bool is_better = false;
  for (size_t i = 0; i < objectives.size(); ++i) {
    const double advantage = Advantage(a[i], b[i], objectives[i]);
    if (advantage < 0) return false;
    is_better = is_better || advantage > 0;
  }
  return is_better;
}

std::vector<size_t> ParetoFront(std::span<const std::vector<double>> values,
                                std::span<const Objective> objectives) {
  std::vector<size_t> front;
  for (size_t i = 0; i < values.size(); ++i) {
    const auto spoils = [&](size_t j) {
      return Dominates(values[j], values[i], objectives) || (j < i && values[j] == values[i]);
    };
    bool is_beaten = false;
    for (size_t j = 0; j < values.size() && !is_beaten; ++j) is_beaten = j != i && spoils(j);
    if (!is_beaten) front.push_back(i);
  }
  std::stable_sort(front.begin(), front.end(), [&](size_t a, size_t b) {
    return Advantage(values[a][0], values[b][0], objectives[0]) > 0;
  });
  return front;
}

Result<std::optional<ObjectiveFront>> FindFront(RecordStore& records, FigureStore& figures,
                                                const FrontQuery& query) {
  std::optional<ObjectiveFront> newest;
  RecordQuery sets;
  sets.problem = query.problem;
  sets.backend = query.here.backend;
  const Status visited = records.Visit(sets, [&](const RecordedSet& recorded) -> Status {
    const auto sought = recorded.set.environment.find(std::string(kObjectiveTerm));
    const bool is_asked = recorded.set.target == query.here &&
                          sought != recorded.set.environment.end() && sought->second == query.names;
    if (!is_asked) return Status::Ok();
    ATTUNE_ASSIGN_OR_RETURN(const auto all, figures.FiguresOf(recorded.set.id));
    ObjectiveFront front{recorded.set, ObjectivesOf(sought->second, all), {}};
    AddPoints(recorded, all, front);
    if (front.points.empty()) return Status::Ok();
    SortByFront(front);
    newest = std::move(front);
    return Status::Ok();
  });
  if (!visited.ok()) return visited;
  return newest;
}

}  // namespace attune
