// Classification and regression trees (Breiman et al. 1984): exact splits between values, the best
// leaf divided first, as in SEER.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "attune/base/status.h"
#include "attune/model/model_text.h"

namespace attune::seer {

enum class CartKind { kClassification, kRegression };

struct CartSettings {
  size_t most_splits = 64;
  size_t least_in_leaf = 1;
};

// Rows of equally many features, with a target each: a class (0, 1, ...) or a number.
struct CartData {
  std::vector<std::vector<double>> rows;
  std::vector<double> targets;

  size_t size() const { return targets.size(); }
};

class Cart {
 public:
  // Splits by Gini's impurity or by squared errors, halfway between two values; of equally good
  // splits the first feature and the smallest value. REQUIRES: at least one row.
  static Cart Grow(CartKind kind, const CartData& data, const CartSettings& settings);

  // Also chooses the minimum number of rows in a leaf, from 1, 2, 3, 5, 8, ... up to half of the
  // rows: the one with the lowest loss in five folds drawn with `seed`. The loss is the share of
  // errors, or the mean squared error.
  static Cart GrowCrossValidated(CartKind kind, const CartData& data, uint64_t seed);

  // The most frequent class in the leaf (the smallest of equally frequent ones), or the mean.
  double Predict(std::span<const double> row) const;

  size_t splits() const { return nodes_.size() / 2; }
  size_t least_in_leaf() const { return least_in_leaf_; }

  struct Node {
    size_t feature = 0;
    double threshold = 0;  // Left where the value is below it.
    size_t left = 0;       // 0: a leaf. The right one follows.
    double value = 0;

    friend bool operator==(const Node&, const Node&) = default;
  };
  // One line of a file of models (docs/formats/seer.md).
  void AppendText(std::string& text) const;
  // A tree on `features` numbers. With `classes` above 0 its leaves must be one of 0 to classes -
  // 1. kDataLoss, with the line, for text that is not such a tree.
  static Result<Cart> ReadFrom(ModelLines& lines, size_t features, size_t classes);

  // The root first.
  const std::vector<Node>& nodes() const { return nodes_; }

 private:
  std::vector<Node> nodes_;
  size_t least_in_leaf_ = 1;
};

}  // namespace attune::seer
