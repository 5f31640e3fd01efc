#include "attune/tuner/candidate_source.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "attune/base/usable_cores.h"
#include "attune/problem/own_kernel.h"
#include "attune/tuner/tuner.h"

namespace attune {
namespace {

// Times of other device contexts whose configs exist in `space`, too.
std::vector<TimesElsewhere> TimesIn(const TimesOfPlaces& places, const SolverId& solver,
                                    const ConfigSpace& space) {
  std::vector<TimesElsewhere> times;
  const auto found = places.find(solver);
  if (found == places.end()) return times;
  for (const std::vector<ConfigTime>& place : found->second) {
    TimesElsewhere of_place;
    for (const ConfigTime& tried : place) {
      const std::optional<uint64_t> index = space.IndexOf(tried.config);
      if (index.has_value()) of_place.push_back({*index, tried.time_ns});
    }
    if (!of_place.empty()) times.push_back(std::move(of_place));
  }
  return times;
}

// True if all of `spaces` can be tried whole, and no device lists more. The number of candidates
// that the time allows is unknown before the search, and would differ when an interrupted run
// resumes.
bool IsRoomForAll(const std::vector<std::pair<const Solver*, ConfigSpace>>& spaces,
                  int64_t max_candidates) {
  auto left = static_cast<uint64_t>(max_candidates);
  for (const auto& [solver, space] : spaces) {
    if (solver->traits().listed_on_device || space.size() > left) return false;
    left -= space.size();
  }
  return true;
}

}  // namespace

bool CandidateSource::Arm::Exhausted() const {
  return whole() ? next_index >= space.size() : searcher->Done();
}

std::vector<uint64_t> CandidateSource::Arm::Ask(size_t max_count) {
  std::vector<uint64_t> indices;
  if (!whole()) {
    indices = searcher->Ask(max_count);
  } else {
    while (next_index < space.size() && indices.size() < max_count) indices.push_back(next_index++);
  }
  asked += static_cast<int64_t>(indices.size());
  return indices;
}

Result<CandidateSource> CandidateSource::Create(const Problem& problem, const Target& target,
                                                const std::vector<const Solver*>& solvers,
                                                const Options& options,
                                                std::vector<std::string>* notes) {
  CandidateSource source(options);
  source.default_is_chosen_ = !IsOwnKernel(problem);
  std::vector<std::pair<const Solver*, ConfigSpace>> spaces;
  for (const Solver* solver : solvers) {
    auto space = options.only_configs.empty() ? solver->Space(problem, target)
                                              : source.OnlyConfig(*solver, problem, target);
    if (!space.ok()) {
      notes->push_back(fmt::format("{} has no space for this problem: {}", Text(solver->id()),
                                   space.error().message()));
      continue;
    }
    spaces.emplace_back(solver, *std::move(space));
  }
  const bool fits = IsRoomForAll(spaces, options.max_candidates);
  for (auto& [solver, space] : spaces) {
    const uint64_t head = std::min(kGuesses, space.guesses());
    const uint64_t evaluations = fits ? space.size() : 0;
    ATTUNE_RETURN_IF_ERROR(source.AddArm(solver->id(), std::move(space), head, evaluations));
  }
  return source;
}

Result<ConfigSpace> CandidateSource::OnlyConfig(const Solver& solver, const Problem& problem,
                                                const Target& target) const {
  const auto found = options_.only_configs.find(solver.id().name);
  if (found != options_.only_configs.end()) return ConfigSpace::FromConfigs({found->second});
  ATTUNE_ASSIGN_OR_RETURN(const Config usual, solver.DefaultConfig(problem, target));
  return ConfigSpace::FromConfigs({usual});
}

Status CandidateSource::AddArm(const SolverId& solver, ConfigSpace space, uint64_t head,
                               uint64_t evaluations) {
  std::unique_ptr<Searcher> searcher;
  if (space.size() > kExhaustiveSize) {
    // Each solver gets its own stream, so that adding one does not change what another tries.
    const uint64_t seed = options_.seed ^ FingerprintOf(Text(solver)).low;
    const SearcherOptions options = {
        .seed = seed,
        .head = head,
        .elsewhere = TimesIn(options_.elsewhere, solver, space),
        .workers = static_cast<size_t>(UsableCores() + kWaitingForTheDevice),
        .default_is_chosen = default_is_chosen_,
        .evaluations = evaluations};
    ATTUNE_ASSIGN_OR_RETURN(searcher, MakeSearcher(options_.searcher, space, options));
  }
  arms_.emplace_back(solver, std::move(space), std::move(searcher));
  return Status::Ok();
}

Status CandidateSource::AddListed(const SolverId& solver, const std::vector<Config>& configs) {
  if (configs.empty() || !options_.only_configs.empty()) return Status::Ok();
  ATTUNE_ASSIGN_OR_RETURN(ConfigSpace space, ConfigSpace::FromConfigs(configs));
  return AddArm(solver, std::move(space), std::min<uint64_t>(kGuesses, configs.size()), 0);
}

uint64_t CandidateSource::size() const {
  uint64_t size = 0;
  for (const Arm& arm : arms_) size += arm.space.size();
  return size;
}

bool CandidateSource::Has(const Candidate& candidate) const {
  return std::any_of(arms_.begin(), arms_.end(), [&](const Arm& arm) {
    return arm.solver == candidate.solver && arm.space.IndexOf(candidate.config).has_value();
  });
}

std::vector<Candidate> CandidateSource::Ask(size_t max_count, bool is_idle) {
  std::vector<Candidate> batch;
  const auto take = [&](Arm& arm, size_t count) {
    for (const uint64_t index : arm.Ask(count)) batch.push_back({arm.solver, arm.space.At(index)});
  };
  if (!defaults_asked_) {
    // Never split: the answers of all defaults decide which solvers get more turns.
    for (Arm& arm : arms_) take(arm, 1);
    defaults_asked_ = true;
    return batch;
  }
  max_count = std::min(max_count, Left());
  for (Arm& arm : arms_) {
    if (arm.whole() && !IsHopeless(arm)) take(arm, max_count - batch.size());
  }
  for (Arm& arm : arms_) arm.waits = false;
  while (batch.size() < max_count) {
    Arm* arm = NextArm(is_idle && batch.empty());
    if (arm == nullptr) break;
    const size_t before = batch.size();
    take(*arm, 1);
    arm->waits = batch.size() == before;
    if (!arm->waits) ++arm->turns;
  }
  return batch;
}

size_t CandidateSource::Left() const {
  if (options_.max_candidates <= 0) return std::numeric_limits<size_t>::max();
  int64_t left = options_.max_candidates;
  for (const Arm& arm : arms_) left -= arm.asked;
  return static_cast<size_t>(std::max<int64_t>(left, 0));
}

double CandidateSource::TurnsTaken(const Arm& arm) const {
  // Turns weigh the cube of the distance to the best. A solver that turns out better than it looked
  // catches up at once.
  const double behind = arm.best_ns.has_value() ? *arm.best_ns / *BestNs() : 1.0;
  return static_cast<double>(arm.turns + 1) * behind * behind * behind;
}

CandidateSource::Arm* CandidateSource::NextArm(bool may_get_ahead) {
  Arm* next = nullptr;
  double least_waiting = std::numeric_limits<double>::infinity();
  for (Arm& arm : arms_) {
    if (arm.whole() || arm.Exhausted() || IsHopeless(arm)) continue;
    const double taken = TurnsTaken(arm);
    if (arm.waits) {
      least_waiting = std::min(least_waiting, taken);
    } else if (next == nullptr || taken < TurnsTaken(*next)) {
      next = &arm;
    }
  }
  if (next == nullptr || may_get_ahead) return next;
  return TurnsTaken(*next) > least_waiting + kTurnsAhead ? nullptr : next;
}

void CandidateSource::Tell(const Candidate& candidate, const Answer& answer) {
  for (Arm& arm : arms_) {
    if (arm.solver != candidate.solver) continue;
    const std::optional<uint64_t> index = arm.space.IndexOf(candidate.config);
    if (!index.has_value()) continue;
    const std::optional<double>& time_ns = answer.time_ns;
    if (time_ns.has_value() && (!arm.best_ns.has_value() || *time_ns < *arm.best_ns)) {
      arm.best_ns = time_ns;
    }
    if (!arm.whole()) arm.searcher->Tell(*index, answer);
    return;
  }
}

std::optional<double> CandidateSource::BestNs() const {
  std::optional<double> best;
  for (const Arm& arm : arms_) {
    if (arm.best_ns.has_value() && (!best.has_value() || *arm.best_ns < *best)) best = arm.best_ns;
  }
  return best;
}

std::optional<double> CandidateSource::BestNsOf(const SolverId& solver) const {
  std::optional<double> best;
  for (const Arm& arm : arms_) {
    if (arm.solver != solver || !arm.best_ns.has_value()) continue;
    if (!best.has_value() || *arm.best_ns < *best) best = arm.best_ns;
  }
  return best;
}

bool CandidateSource::IsHopeless(const Arm& arm) const {
  if (!options_.drop_hopeless) return false;
  const std::optional<double> best = BestNs();
  const int64_t chances = std::min(kChancesBeforeHopeless, static_cast<int64_t>(arm.space.size()));
  if (!best.has_value() || arm.asked < chances) return false;
  return !arm.best_ns.has_value() || *arm.best_ns > kHopelessRatio * *best;
}

}  // namespace attune
