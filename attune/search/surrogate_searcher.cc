#include "attune/search/surrogate_searcher.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

namespace attune {
namespace {

// Answers before the trees are asked: few, because each is charged as any other.
constexpr size_t kFirstAnswers = 3;
// The same where the first config was chosen deliberately: steps from it, and from better configs,
// are a descent that the trees have to outdo, and its answers describe a good region.
constexpr size_t kFirstAnswersNearby = 16;
// The more answers there are, the less the outstanding ones change.
constexpr size_t kAnswersForEachOut = 8;
constexpr size_t kPool = 1000;
// Candidates of the pool that others replace at each ask.
constexpr size_t kRefreshed = 150;
constexpr size_t kBest = 3;
constexpr size_t kMostNeighbours = 512;
constexpr size_t kMostNeighbourLists = 256;
// Rank of a config without a trial in another device context: it may be good or bad.
constexpr uint8_t kRankOfUntried = 128;
// A smaller improvement is noise.
constexpr float kImprovement = 0.005f;

// Shares of proposals; the rest is from the pool.
constexpr double kRandomShare = 0.03;
constexpr double kNearBestShare = 0.15;
constexpr double kNicheShare = 0.3;
constexpr double kNicheShareOfStagnation = 0.15;
constexpr double kMostStagnation = 3;
// A niche without any candidate so far is drawn 1 + 1 / kNicheFloor times as often as a niche with
// as many as random search would have tried.
constexpr double kNicheFloor = 0.2;
// The Gaussian process chooses this share of the proposals, the trees choose the others.
constexpr double kProcessShare = 0.5;
// Answers that the process is fitted to, because its cost is the cube of their number.
constexpr size_t kMostPoints = 100;
// Candidates of the pool, or of one list of neighbours, that the process rates at once.
constexpr size_t kMostShown = 256;
// A predicted cost adds to a bound as a power of the cost: its exponent before the first answer,
// and the answers that halve it (cost cooling: Lee, Perrone, Archambeau, Seeger 2020). Quick trials
// pay while little is known; later the best config counts, however expensive its trial.
constexpr double kCostPower = 0.6;
constexpr double kAnswersToHalve = 30;
// Standard deviations that a bound is below the mean: exponentially distributed with these means.
constexpr double kMeanTrustOfPool = 0.7;
constexpr double kMeanTrustNearBest = 0.8;

}  // namespace

SurrogateSearcher::SurrogateSearcher(const ConfigSpace& space, const SearcherOptions& options)
    : ProposingSearcher(space, options),
      workers_(options.workers),
      default_is_chosen_(options.default_is_chosen),
      features_(digits()),
      levels_(digits()),
      elsewhere_(RanksElsewhere(options.elsewhere)),
      told_features_(row_size()),
      told_levels_(level_row_size()),
      process_(Jumps()),
      pool_(NoCandidates()) {
  for (size_t i = 0; i < digits().size(); ++i) {
    best_with_.emplace_back(digits().radix(i));
    asked_with_.emplace_back(digits().radix(i), 0);
  }
}

void SurrogateSearcher::WillAsk(uint64_t index) {
  const Digits asked = digits().At(index);
  for (size_t i = 0; i < asked.size(); ++i) ++asked_with_[i][asked[i]];
  ++asked_count_;
}

std::vector<float> SurrogateSearcher::Jumps() const {
  std::vector<float> jumps;
  for (size_t i = 0; i < levels_.size(); ++i) jumps.push_back(levels_.jump(i));
  if (!elsewhere_.empty()) jumps.push_back(0);
  return jumps;
}

void SurrogateSearcher::Learn(uint64_t index, const Answer& answer) {
  const Digits told_digits = digits().At(index);
  WriteRows(index, told_digits);
  told_features_.Append(row_);
  told_levels_.Append(level_row_);
  Told told{index};
  if (answer.time_ns.has_value()) told.log_time = static_cast<float>(std::log(*answer.time_ns));
  if (answer.cost_ns > 0) told.log_cost = static_cast<float>(std::log(answer.cost_ns));
  knows_costs_ = knows_costs_ || told.log_cost.has_value();
  told_.push_back(told);
  process_is_old_ = true;
  if (told.log_time.has_value()) Rank(told_.size() - 1, told_digits);
}

void SurrogateSearcher::WriteRows(uint64_t index, const Digits& digits) {
  features_.Write(digits, row_);
  levels_.Write(digits, level_row_);
  if (elsewhere_.empty()) return;
  const auto found = elsewhere_.find(index);
  const uint8_t rank = found == elsewhere_.end() ? kRankOfUntried : found->second;
  row_.push_back(rank);
  level_row_.push_back(rank);
}

size_t SurrogateSearcher::MostOut() const {
  return std::max(workers_, told_.size() / kAnswersForEachOut);
}

bool SurrogateSearcher::IsFaster(size_t told, std::optional<size_t> than) const {
  return !than.has_value() || *told_[told].log_time < *told_[*than].log_time;
}

void SurrogateSearcher::Rank(size_t told, const Digits& told_digits) {
  if (best_.empty() || *told_[told].log_time < *told_[best_[0]].log_time - kImprovement) {
    last_improvement_ = told_.size();
  }
  const auto place =
      std::find_if(best_.begin(), best_.end(), [&](size_t other) { return IsFaster(told, other); });
  best_.insert(place, told);
  if (best_.size() > kBest) best_.pop_back();
  for (size_t i = 0; i < told_digits.size(); ++i) {
    std::optional<size_t>& best = best_with_[i][told_digits[i]];
    if (IsFaster(told, best)) best = told;
  }
}

std::vector<ForestTarget> SurrogateSearcher::Targets(std::optional<float> Told::*member) const {
  std::vector<float> known;
  for (const Told& told : told_) {
    if ((told.*member).has_value()) known.push_back(*(told.*member));
  }
  const auto middle = known.begin() + static_cast<ptrdiff_t>(known.size() / 2);
  std::nth_element(known.begin(), middle, known.end());
  std::vector<ForestTarget> targets;
  for (const Told& told : told_) targets.push_back((told.*member).value_or(*middle));
  return targets;
}

double SurrogateSearcher::CostPower() const {
  if (!knows_costs_) return 0;
  return kCostPower / (1 + static_cast<double>(told_.size()) / kAnswersToHalve);
}

// Uses the fastest configs, because proposals must beat them, and the latest, because the search is
// near them.
void SurrogateSearcher::FitProcess() {
  if (!process_is_old_) return;
  process_is_old_ = false;
  const std::vector<ForestTarget> targets = Targets(&Told::log_time);
  rows_.resize(targets.size());
  std::iota(rows_.begin(), rows_.end(), 0u);
  if (rows_.size() > kMostPoints) {
    const auto latest = rows_.begin() + static_cast<ptrdiff_t>(kMostPoints / 2);
    // Ties go to the earlier answer.
    std::nth_element(rows_.begin(), latest, rows_.end(), [&](uint32_t a, uint32_t b) {
      return targets[a] != targets[b] ? targets[a] < targets[b] : a < b;
    });
    std::nth_element(latest, latest + static_cast<ptrdiff_t>(kMostPoints / 2), rows_.end(),
                     std::greater<>());
    rows_.resize(kMostPoints);
    std::sort(rows_.begin(), rows_.end());
  }
  std::vector<float> of_rows;
  for (const uint32_t row : rows_) of_rows.push_back(targets[row]);
  process_.Fit(told_levels_, rows_, of_rows, random());
}

double SurrogateSearcher::Stagnation() const {
  const auto answers = static_cast<double>(told_.size());
  const double still = answers - static_cast<double>(last_improvement_);
  return std::min(kMostStagnation, still / (10 + 0.1 * answers));
}

std::optional<uint64_t> SurrogateSearcher::Propose() {
  const size_t first = default_is_chosen_ ? kFirstAnswersNearby : kFirstAnswers;
  if (told_.size() < first || best_.empty()) return ProposeFirst();
  double draw = random().Uniform() - kRandomShare;
  if (draw < 0) return SampleUnasked();
  asks_process_ = random().Uniform() < kProcessShare;
  if (asks_process_) {
    FitProcess();
  } else {
    times_.Follow(told_features_, Targets(&Told::log_time), random());
  }
  if (knows_costs_) costs_.Follow(told_features_, Targets(&Told::log_cost), random());
  const double niche_share = kNicheShare + kNicheShareOfStagnation * Stagnation();
  const double deviate = -std::log(1 - random().Uniform());
  Choice choice;
  if ((draw -= kNearBestShare) < 0) {
    choice = NearTheBest(static_cast<float>(deviate * kMeanTrustNearBest));
  } else if ((draw -= niche_share) < 0) {
    choice = WithAnotherValue(static_cast<float>(deviate * kMeanTrustNearBest));
  }
  if (!choice.index.has_value()) {
    choice = FromPool(static_cast<float>(deviate * kMeanTrustOfPool));
  }
  return choice.index;
}

std::optional<uint64_t> SurrogateSearcher::ProposeFirst() {
  if (!default_is_chosen_) return std::nullopt;
  const uint64_t from = best_.empty() ? 0 : told_[best_[0]].index;
  const std::vector<uint64_t> neighbours = space().Neighbours(from, true);
  if (neighbours.empty()) return std::nullopt;
  return neighbours[random().Below(neighbours.size())];
}

SurrogateSearcher::Choice SurrogateSearcher::FromPool(float trust) {
  RefreshPool();
  Choice choice = NearTheBest(trust);
  Consider(pool_, std::nullopt, trust, choice);
  return choice;
}

SurrogateSearcher::Choice SurrogateSearcher::NearTheBest(float trust) {
  Choice choice;
  for (const size_t told : best_) {
    Consider(NeighboursOf(told_[told].index), std::nullopt, trust, choice);
  }
  return choice;
}

// A parameter of few values is more often one of variants than of sizes, and good configs of
// another variant are rarely near good ones of this variant. A value that was asked for less often
// than others of its parameter may hide a good region.
SurrogateSearcher::Niche SurrogateSearcher::DrawNiche() {
  const Digits best = digits().At(told_[best_[0]].index);
  std::vector<Niche> niches;
  std::vector<double> sums;
  double sum = 0;
  for (size_t i = 0; i < best.size(); ++i) {
    const auto radix = static_cast<double>(digits().radix(i));
    for (uint32_t digit = 0; digit < digits().radix(i); ++digit) {
      if (digit == best[i]) continue;
      const double times_chance = asked_with_[i][digit] * radix / static_cast<double>(asked_count_);
      sum += 1 / (radix * radix * (times_chance + kNicheFloor));
      niches.push_back({i, digit});
      sums.push_back(sum);
    }
  }
  const auto drawn = std::upper_bound(sums.begin(), sums.end() - 1, random().Uniform() * sum);
  return niches[static_cast<size_t>(drawn - sums.begin())];
}

SurrogateSearcher::Choice SurrogateSearcher::WithAnotherValue(float trust) {
  const Niche niche = DrawNiche();
  Choice choice;
  Consider(NeighboursOf(told_[best_[0]].index), niche, trust, choice);
  const std::optional<size_t> best = best_with_[niche.parameter][niche.digit];
  if (best.has_value()) {
    Consider(NeighboursOf(told_[*best].index), niche, trust, choice);
  } else {
    Consider(pool_, niche, trust, choice);
  }
  return choice;
}

void SurrogateSearcher::Consider(const Candidates& candidates, const std::optional<Niche>& niche,
                                 float trust, Choice& choice) {
  rows_.clear();
  for (size_t i = 0; i < candidates.indices.size(); ++i) {
    if (niche.has_value() && candidates.digits[i][niche->parameter] != niche->digit) continue;
    if (!WasAsked(candidates.indices[i])) rows_.push_back(static_cast<uint32_t>(i));
  }
  // A different part of a long list each time.
  if (asks_process_ && rows_.size() > kMostShown) {
    const auto first = static_cast<ptrdiff_t>(random().Below(rows_.size()));
    std::rotate(rows_.begin(), rows_.begin() + first, rows_.end());
    rows_.resize(kMostShown);
  }
  Predict(candidates);
  const auto cost_power = static_cast<float>(CostPower());
  if (cost_power > 0) costs_.Predict(candidates.features, rows_, sums_);
  for (size_t i = 0; i < rows_.size(); ++i) {
    float bound = predictions_[i].mean - trust * std::sqrt(predictions_[i].variance);
    if (cost_power > 0) bound += cost_power * sums_[i].sum / static_cast<float>(costs_.size());
    if (choice.index.has_value() && bound >= choice.bound) continue;
    choice = {candidates.indices[rows_[i]], bound};
  }
}

void SurrogateSearcher::Predict(const Candidates& candidates) {
  if (asks_process_) {
    process_.Predict(candidates.levels, rows_, predictions_);
    return;
  }
  times_.Predict(candidates.features, rows_, sums_);
  const auto trees = static_cast<float>(times_.size());
  predictions_.resize(rows_.size());
  for (size_t i = 0; i < rows_.size(); ++i) {
    const float mean = sums_[i].sum / trees;
    predictions_[i] = {mean, std::max(0.0f, sums_[i].squares / trees - mean * mean)};
  }
}

uint64_t SurrogateSearcher::SampleUnasked() {
  // The caller skips a config that was asked for already.
  uint64_t index = space().Sample(random());
  for (int attempt = 0; attempt < 3 && WasAsked(index); ++attempt) {
    index = space().Sample(random());
  }
  return index;
}

void SurrogateSearcher::RefreshPool() {
  const size_t old_size = pool_.indices.size();
  const size_t count = old_size < kPool ? kPool : kRefreshed;
  for (size_t i = 0; i < count; ++i) {
    const uint64_t index = SampleUnasked();
    Digits sampled = digits().At(index);
    WriteRows(index, sampled);
    if (old_size < kPool) {
      pool_.indices.push_back(index);
      pool_.digits.push_back(std::move(sampled));
      pool_.features.Append(row_);
      pool_.levels.Append(level_row_);
    } else {
      const size_t place = random().Below(kPool);
      pool_.indices[place] = index;
      pool_.digits[place] = std::move(sampled);
      pool_.features.Replace(place, row_);
      pool_.levels.Replace(place, level_row_);
    }
  }
}

const SurrogateSearcher::Candidates& SurrogateSearcher::NeighboursOf(uint64_t index) {
  const auto found = neighbours_.find(index);
  if (found != neighbours_.end()) return found->second;
  if (neighbours_.size() >= kMostNeighbourLists) neighbours_.clear();
  std::vector<uint64_t> indices = space().SampleNeighbours(index, kMostNeighbours, random());
  Candidates candidates = NoCandidates();
  for (const uint64_t neighbour : indices) {
    candidates.digits.push_back(digits().At(neighbour));
    WriteRows(neighbour, candidates.digits.back());
    candidates.features.Append(row_);
    candidates.levels.Append(level_row_);
  }
  candidates.indices = std::move(indices);
  return neighbours_.emplace(index, std::move(candidates)).first->second;
}

}  // namespace attune
