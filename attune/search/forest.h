// Extremely randomised trees (Geurts, Ernst and Wehenkel 2006): a regression whose answers come
// with how much the trees disagree. Values only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "attune/base/random.h"

namespace attune {

// Points side by side, of which one byte is known for each feature: the position of its value among
// those that the feature can have. Only their order counts. They stand in rows that are padded so
// that loops over features are vector instructions.
class FeatureTable {
 public:
  static constexpr size_t kPadding = 16;

  explicit FeatureTable(size_t features)
      : stride_((features + kPadding - 1) / kPadding * kPadding) {}

  size_t rows() const { return stride_ == 0 ? 0 : bytes_.size() / stride_; }
  size_t stride() const { return stride_; }
  const uint8_t* row(size_t i) const { return bytes_.data() + i * stride_; }
  // REQUIRES: `features` has at most stride() bytes.
  void Append(std::span<const uint8_t> features);
  void Replace(size_t i, std::span<const uint8_t> features);

 private:
  size_t stride_;
  std::vector<uint8_t> bytes_;
};

// What a tree predicts.
using ForestTarget = float;

// Sums over trees.
struct ForestPrediction {
  float sum = 0;
  float squares = 0;
};

// One tree. Its leaves hold as few points as they can.
class ForestTree {
 public:
  // Grows the tree anew on at most `most_rows` rows, chosen at random. REQUIRES: as many targets as
  // rows, at least one.
  void Grow(const FeatureTable& table, std::span<const ForestTarget> targets, size_t most_rows,
            Random& random);
  // Adds to `predictions`, for each of `rows`, the mean of the leaf that it is in.
  void Predict(const FeatureTable& table, std::span<const uint32_t> rows,
               std::vector<ForestPrediction>& predictions) const;

 private:
  struct Node {
    uint32_t child = 0;  // Of values up to `cut`; the other is behind it. A leaf has itself.
    uint16_t feature = 0;
    uint8_t cut = 255;  // No value is above that of a leaf.
    ForestTarget mean = 0;
  };
  struct Part {
    size_t begin = 0;
    size_t end = 0;
    size_t node = 0;
    int depth = 0;
  };
  struct Split {
    int32_t feature = -1;  // Below 0: there is none.
    uint8_t cut = 0;
  };

  void ChooseRows(size_t rows, size_t most_rows, Random& random);
  // Sets the mean; whether the points differ.
  bool Summarise(const Part& part, std::span<const ForestTarget> targets);
  Split ChooseSplit(const FeatureTable& table, std::span<const ForestTarget> targets,
                    const Part& part, Random& random);
  void DrawCuts(const FeatureTable& table, const Part& part, Random& random);
  size_t Divide(const FeatureTable& table, const Part& part, const Split& split);

  std::vector<Node> nodes_;
  int depth_ = 0;  // Of the deepest leaf.
  // Working memory of Grow().
  std::vector<uint32_t> order_;
  std::vector<Part> parts_;
  std::vector<uint8_t> low_, high_, cuts_;
  std::vector<float> left_sums_, left_counts_;
};

// Trees that follow targets as these become more: all of them are grown anew while there are few
// targets, later a quarter at a time, which costs less and changes little.
class Forest {
 public:
  // Grows trees if there are other targets than last time, by their number. REQUIRES: as for a
  // tree.
  void Follow(const FeatureTable& table, std::span<const ForestTarget> targets, Random& random);
  // Replaces `sums` by the sums over all trees for each of `rows`. REQUIRES: it followed targets.
  void Predict(const FeatureTable& table, std::span<const uint32_t> rows,
               std::vector<ForestPrediction>& sums) const;
  size_t size() const { return trees_.size(); }

 private:
  static constexpr size_t kTrees = 20;

  std::vector<ForestTree> trees_ = std::vector<ForestTree>(kTrees);
  size_t next_ = 0;
  size_t followed_ = 0;  // Targets of the last time.
};

}  // namespace attune
