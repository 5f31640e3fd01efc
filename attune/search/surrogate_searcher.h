// A searcher that predicts times with two models and asks for the configs that may be fastest.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "attune/search/config_features.h"
#include "attune/search/forest.h"
#include "attune/search/gaussian_process.h"
#include "attune/search/proposing_searcher.h"

namespace attune {

// Begins with a few random configs, or, if the first one was chosen deliberately, with steps away
// from it and from better configs. Then each proposal is the candidate with the minimum lower
// confidence bound on the logarithm of the time, by one of two models: extremely randomised trees
// find interactions and thresholds, a Gaussian process finds smooth trends with few answers. They
// are wrong in different regions, so each proposal draws one of them. Failures count as the median,
// so that they repel only where they crowd. The rank of a config in other device contexts is a
// feature beside its values. Candidates are, by chance,
//   - a random pool and all neighbours of the best configs,
//   - the neighbours of the best configs alone, or
//   - those with a value of one parameter that the best config does not have, near that config and
//     near the best that has it: a second region is followed before it is better than the first.
// The longer nothing improves, the more proposals are of the third kind. How much a bound trusts
// the mean is drawn anew for each proposal, so that a batch is not all alike; while little is
// known, a batch has no more than options.workers. If answers hold costs, further trees predict
// these, and of two equally promising configs the cheaper one is tried, above all early. An ask
// costs the same on every size of space.
class SurrogateSearcher final : public ProposingSearcher {
 public:
  SurrogateSearcher(const ConfigSpace& space, const SearcherOptions& options);

 protected:
  std::optional<uint64_t> Propose() override;
  void Learn(uint64_t index, const Answer& answer) override;
  size_t MostOut() const override;
  void WillAsk(uint64_t index) override;

 private:
  // Configs with their features.
  struct Candidates {
    std::vector<uint64_t> indices;
    std::vector<Digits> digits;
    FeatureTable features;
    FeatureTable levels;
  };
  struct Told {
    uint64_t index = 0;
    std::optional<float> log_time = {};
    std::optional<float> log_cost = {};
  };
  // All configs with digit `digit` of parameter `parameter`.
  struct Niche {
    size_t parameter = 0;
    uint32_t digit = 0;
  };
  struct Choice {
    std::optional<uint64_t> index;
    float bound = 0;
  };

  // Writes the features of a config into `row_` and its levels into `level_row_`. Both end with its
  // rank on other devices, if there are such ranks.
  void WriteRows(uint64_t index, const Digits& digits);
  size_t row_size() const { return features_.size() + (elsewhere_.empty() ? 0 : 1); }
  size_t level_row_size() const { return levels_.size() + (elsewhere_.empty() ? 0 : 1); }
  std::vector<float> Jumps() const;

  // The best answer with each value of each parameter.
  void Rank(size_t told, const Digits& digits);
  bool IsFaster(size_t told, std::optional<size_t> than) const;
  void FitProcess();
  // The member of each answer, or the median where an answer lacks it.
  std::vector<ForestTarget> Targets(std::optional<float> Told::*member) const;
  // The power of a config's predicted cost that its bound is multiplied by.
  double CostPower() const;
  // From 0, right after an improvement, to kMostStagnation.
  double Stagnation() const;

  // Before the trees have answers.
  std::optional<uint64_t> ProposeFirst();
  Choice FromPool(float trust);
  Choice NearTheBest(float trust);
  Choice WithAnotherValue(float trust);
  void RefreshPool();
  uint64_t SampleUnasked();
  const Candidates& NeighboursOf(uint64_t index);
  // A value that the best config does not have, above all one that was rarely asked for. REQUIRES:
  // there is a best one.
  Niche DrawNiche();
  // Takes the candidate with the minimum bound into `choice`, among those in `niche` if it is
  // given.
  void Consider(const Candidates& candidates, const std::optional<Niche>& niche, float trust,
                Choice& choice);
  // Writes the model's predictions for `rows_` into `predictions_`.
  void Predict(const Candidates& candidates);
  Candidates NoCandidates() const {
    return {{}, {}, FeatureTable(row_size()), FeatureTable(level_row_size())};
  }

  const size_t workers_;
  const bool default_is_chosen_;
  ConfigFeatures features_;
  ConfigLevels levels_;
  const std::unordered_map<uint64_t, uint8_t> elsewhere_;  // See RanksElsewhere.
  // Working memory.
  std::vector<uint8_t> row_, level_row_;
  std::vector<uint32_t> rows_;
  std::vector<ForestPrediction> sums_;
  std::vector<ProcessPrediction> predictions_;
  std::vector<Told> told_;
  FeatureTable told_features_;
  FeatureTable told_levels_;
  size_t last_improvement_ = 0;                                // Number of answers then.
  std::vector<size_t> best_;                                   // In `told_`, fastest first.
  std::vector<std::vector<std::optional<size_t>>> best_with_;  // By parameter and digit.
  std::vector<std::vector<uint32_t>> asked_with_;              // By parameter and digit.
  size_t asked_count_ = 0;
  Forest times_;
  Forest costs_;
  bool knows_costs_ = false;
  GaussianProcess process_;
  bool process_is_old_ = true;
  bool asks_process_ = false;  // This proposal, not the trees.
  Candidates pool_;
  std::unordered_map<uint64_t, Candidates> neighbours_;
};

}  // namespace attune
