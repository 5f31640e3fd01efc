#include "attune/search/surrogate_searcher.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

namespace attune {
namespace {

// Answers before the trees are asked: few, because each is charged as any other.
constexpr size_t kFirstAnswers = 3;
// The same where the first config was chosen: steps from it, and from what is better, are a descent
// that the trees have to outdo, and what they learn of it is about a good region.
constexpr size_t kFirstAnswersNearby = 16;
// The more is known, the less do the answers that are out change.
constexpr size_t kAnswersForEachOut = 8;
constexpr size_t kTrees = 20;
// Trees that are grown anew when there are answers, once there are kAnswersForAll of them.
constexpr size_t kRenewedTrees = 5;
constexpr size_t kAnswersForAll = 40;
constexpr size_t kMostRows = 500;
constexpr size_t kPool = 1000;
// Candidates of the pool that others replace at each ask.
constexpr size_t kRefreshed = 150;
constexpr size_t kBest = 3;
constexpr size_t kMostNeighbours = 512;
constexpr size_t kMostNeighbourLists = 256;
// Of a config that nobody tried elsewhere: it may be good or bad.
constexpr uint8_t kRankOfUntried = 128;
// An improvement by less is noise.
constexpr float kImprovement = 0.005f;

// Shares of proposals; the rest is from the pool.
constexpr double kRandomShare = 0.03;
constexpr double kRandomShareOfStagnation = 0.15;
constexpr double kNearBestShare = 0.3;
constexpr double kNicheShare = 0.3;
// Standard deviations that a bound is below the mean: exponentially distributed with these means.
constexpr double kMeanTrustOfPool = 0.7;
constexpr double kMeanTrustNearBest = 0.3;

}  // namespace

SurrogateSearcher::SurrogateSearcher(const ConfigSpace& space, const SearcherOptions& options)
    : ProposingSearcher(space, options),
      workers_(options.workers),
      default_is_chosen_(options.default_is_chosen),
      features_(digits()),
      elsewhere_(RanksElsewhere(options.elsewhere)),
      told_table_(row_size()),
      trees_(kTrees),
      pool_(NoCandidates()) {
  for (size_t i = 0; i < digits().size(); ++i) best_with_.emplace_back(digits().radix(i));
}

void SurrogateSearcher::Learn(uint64_t index, const Answer& answer) {
  const Digits told_digits = digits().At(index);
  WriteRow(index, told_digits);
  told_table_.Append(row_);
  Told told{index, std::nullopt};
  if (answer.time_ns.has_value()) told.log_time = static_cast<float>(std::log(*answer.time_ns));
  told_.push_back(told);
  trees_are_old_ = true;
  if (told.log_time.has_value()) Rank(told_.size() - 1, told_digits);
}

void SurrogateSearcher::WriteRow(uint64_t index, const Digits& digits) {
  features_.Write(digits, row_);
  if (elsewhere_.empty()) return;
  const auto found = elsewhere_.find(index);
  row_.push_back(found == elsewhere_.end() ? kRankOfUntried : found->second);
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

std::vector<ForestTarget> SurrogateSearcher::Targets() const {
  std::vector<float> times;
  for (const Told& told : told_) {
    if (told.log_time.has_value()) times.push_back(*told.log_time);
  }
  const auto middle = times.begin() + static_cast<ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  std::vector<ForestTarget> targets;
  for (const Told& told : told_) targets.push_back(told.log_time.value_or(*middle));
  return targets;
}

void SurrogateSearcher::GrowTrees() {
  if (!trees_are_old_) return;
  trees_are_old_ = false;
  const std::vector<ForestTarget> targets = Targets();
  const size_t count = told_.size() < kAnswersForAll ? kTrees : kRenewedTrees;
  for (size_t i = 0; i < count; ++i) {
    trees_[next_tree_].Grow(told_table_, targets, kMostRows, random());
    next_tree_ = (next_tree_ + 1) % kTrees;
  }
}

double SurrogateSearcher::RandomShare() const {
  const auto answers = static_cast<double>(told_.size());
  const double still = answers - static_cast<double>(last_improvement_);
  return kRandomShare + kRandomShareOfStagnation * std::min(3.0, still / (10 + 0.1 * answers));
}

std::optional<uint64_t> SurrogateSearcher::Propose() {
  const size_t first = default_is_chosen_ ? kFirstAnswersNearby : kFirstAnswers;
  if (told_.size() < first || best_.empty()) return ProposeFirst();
  double draw = random().Uniform() - RandomShare();
  if (draw < 0) return SampleUnasked();
  GrowTrees();
  const double deviate = -std::log(1 - random().Uniform());
  Choice choice;
  if ((draw -= kNearBestShare) < 0) {
    choice = NearTheBest(static_cast<float>(deviate * kMeanTrustNearBest));
  } else if ((draw -= kNicheShare) < 0) {
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

// A parameter of few values is more often one of variants than of sizes, and what is good with
// another variant is rarely near what is good with this one.
SurrogateSearcher::Niche SurrogateSearcher::DrawNiche() {
  double weights = 0;
  for (const auto& values : best_with_) weights += 1 / static_cast<double>(values.size());
  Niche niche;
  double draw = random().Uniform() * weights;
  for (size_t i = 0; i < best_with_.size(); ++i) {
    niche.parameter = i;
    draw -= 1 / static_cast<double>(best_with_[i].size());
    if (draw < 0) break;
  }
  const auto radix = static_cast<uint32_t>(best_with_[niche.parameter].size());
  const uint32_t of_the_best = digits().At(told_[best_[0]].index)[niche.parameter];
  niche.digit = (of_the_best + 1 + static_cast<uint32_t>(random().Below(radix - 1))) % radix;
  return niche;
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
  predictions_.assign(rows_.size(), {});
  for (const ForestTree& tree : trees_) tree.Predict(candidates.table, rows_, predictions_);
  for (size_t i = 0; i < rows_.size(); ++i) {
    const float mean = predictions_[i].sum / kTrees;
    const float variance = std::max(0.0f, predictions_[i].squares / kTrees - mean * mean);
    const float bound = mean - trust * std::sqrt(variance);
    if (choice.index.has_value() && bound >= choice.bound) continue;
    choice = {candidates.indices[rows_[i]], bound};
  }
}

uint64_t SurrogateSearcher::SampleUnasked() {
  // One that was asked for is passed over by whoever gets it.
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
    WriteRow(index, sampled);
    if (old_size < kPool) {
      pool_.indices.push_back(index);
      pool_.digits.push_back(std::move(sampled));
      pool_.table.Append(row_);
    } else {
      const size_t place = random().Below(kPool);
      pool_.indices[place] = index;
      pool_.digits[place] = std::move(sampled);
      pool_.table.Replace(place, row_);
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
    WriteRow(neighbour, candidates.digits.back());
    candidates.table.Append(row_);
  }
  candidates.indices = std::move(indices);
  return neighbours_.emplace(index, std::move(candidates)).first->second;
}

}  // namespace attune
