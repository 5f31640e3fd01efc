#include "extensions/models/seer/cart.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "attune/base/random.h"
#include "attune/base/text.h"

namespace attune::seer {
namespace {

constexpr size_t kMostNodes = 1 << 16;  // For trees read from a file.

constexpr size_t kFolds = 5;
// The minimum gain of a split, as a share of the root's impurity: less is rounding.
constexpr double kLeastGain = 1e-12;

// The impurity of a set of targets times their number, updated as targets come and go.
class Impurity {
 public:
  Impurity(CartKind kind, size_t classes) : kind_(kind), counts_(classes, 0) {}

  void Add(double target, double sign) {
    count_ += sign;
    if (kind_ == CartKind::kClassification) {
      double& count = counts_[static_cast<size_t>(target)];
      squares_ += sign * 2 * count + 1;  // (c + sign)^2 - c^2.
      count += sign;
    } else {
      sum_ += sign * target;
      squares_ += sign * target * target;
    }
  }
  double Total() const {
    if (count_ <= 0) return 0;
    if (kind_ == CartKind::kClassification) return count_ - squares_ / count_;
    return std::max(0.0, squares_ - sum_ * sum_ / count_);
  }
  double Value() const {
    if (kind_ == CartKind::kRegression) return sum_ / count_;
    return static_cast<double>(std::max_element(counts_.begin(), counts_.end()) - counts_.begin());
  }

 private:
  CartKind kind_;
  std::vector<double> counts_;
  double count_ = 0;
  double sum_ = 0;
  double squares_ = 0;
};

struct Split {
  double gain = 0;
  size_t feature = 0;
  double threshold = 0;
};

struct Leaf {
  size_t node = 0;
  std::vector<size_t> rows;
  Split split;
};

class Grower {
 public:
  Grower(CartKind kind, const CartData& data, size_t least_in_leaf)
      : kind_(kind), data_(data), least_(least_in_leaf) {
    if (kind == CartKind::kClassification) {
      classes_ =
          static_cast<size_t>(*std::max_element(data.targets.begin(), data.targets.end())) + 1;
    } else {
      // Squares of numbers far from 0 lose the differences between them.
      shift_ = std::accumulate(data.targets.begin(), data.targets.end(), 0.0) /
               static_cast<double>(data.size());
    }
  }

  double Value(const std::vector<size_t>& rows) const {
    return Of(rows).Value() + (kind_ == CartKind::kRegression ? shift_ : 0);
  }
  double Total(const std::vector<size_t>& rows) const { return Of(rows).Total(); }

  Split BestSplit(const std::vector<size_t>& rows, double least_gain) const {
    Split best;
    best.gain = least_gain;
    bool found = false;
    if (rows.size() < 2 * least_) return {};
    const double whole = Total(rows);
    for (size_t feature = 0; feature < data_.rows[0].size(); ++feature) {
      std::vector<size_t> order = rows;
      std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
        return data_.rows[a][feature] < data_.rows[b][feature];
      });
      Impurity left(kind_, classes_);
      Impurity right = Of(rows);
      for (size_t i = 0; i + 1 < order.size(); ++i) {
        left.Add(Target(order[i]), 1);
        right.Add(Target(order[i]), -1);
        const double here = data_.rows[order[i]][feature];
        const double next = data_.rows[order[i + 1]][feature];
        if (here == next || i + 1 < least_ || order.size() - i - 1 < least_) continue;
        const double gain = whole - left.Total() - right.Total();
        // Requires a gain beyond rounding, so that order decides between equal splits.
        if (gain <= best.gain * (1 + 1e-9)) continue;
        // No value lies between neighbouring numbers; their middle rounds to the lower one.
        best = {gain, feature, std::max(here + (next - here) / 2, std::nextafter(here, next))};
        found = true;
      }
    }
    return found ? best : Split{};
  }

 private:
  double Target(size_t row) const { return data_.targets[row] - shift_; }
  Impurity Of(const std::vector<size_t>& rows) const {
    Impurity impurity(kind_, classes_);
    for (const size_t row : rows) impurity.Add(Target(row), 1);
    return impurity;
  }

  CartKind kind_;
  const CartData& data_;
  size_t least_;
  size_t classes_ = 0;
  double shift_ = 0;
};

double Loss(CartKind kind, double predicted, double target) {
  if (kind == CartKind::kClassification) return predicted == target ? 0 : 1;
  return (predicted - target) * (predicted - target);
}

double CrossValidatedLoss(CartKind kind, const CartData& data, const std::vector<size_t>& folds,
                          const CartSettings& settings) {
  double loss = 0;
  for (size_t fold = 0; fold < kFolds; ++fold) {
    CartData learnt;
    for (size_t i = 0; i < data.size(); ++i) {
      if (folds[i] == fold) continue;
      learnt.rows.push_back(data.rows[i]);
      learnt.targets.push_back(data.targets[i]);
    }
    if (learnt.targets.empty()) continue;
    const Cart tree = Cart::Grow(kind, learnt, settings);
    for (size_t i = 0; i < data.size(); ++i) {
      if (folds[i] == fold) loss += Loss(kind, tree.Predict(data.rows[i]), data.targets[i]);
    }
  }
  return loss;
}

// A node of a tree: "=VALUE", a leaf, or "COLUMN:LEFT:THRESHOLD".
struct CartWord {
  size_t column = 0;
  size_t left = 0;    // Index of its left node; 0 for a leaf.
  double number = 0;  // The value of a leaf, else the threshold.
};
std::optional<CartWord> ParseCartWord(std::string_view word) {
  const bool is_leaf = word.starts_with('=');
  CartWord node;
  if (is_leaf) {
    word.remove_prefix(1);
  } else {
    const size_t first = word.find(':');
    const size_t second = first == word.npos ? word.npos : word.find(':', first + 1);
    if (second == word.npos) return std::nullopt;
    const auto column = ParseIndex(word.substr(0, first));
    const auto left = ParseIndex(word.substr(first + 1, second - first - 1));
    if (!column || !left || *left == 0) return std::nullopt;
    node.column = *column;
    node.left = *left;
    word.remove_prefix(second + 1);
  }
  const std::optional<double> number = ParseHexFloat(word);
  if (!number) return std::nullopt;
  node.number = *number;
  return node;
}

}  // namespace

Cart Cart::Grow(CartKind kind, const CartData& data, const CartSettings& settings) {
  assert(!data.targets.empty() && data.rows.size() == data.targets.size());
  const Grower grower(kind, data, std::max<size_t>(1, settings.least_in_leaf));
  Cart tree;
  tree.least_in_leaf_ = settings.least_in_leaf;
  std::vector<Leaf> leaves(1);
  leaves[0].rows.resize(data.size());
  std::iota(leaves[0].rows.begin(), leaves[0].rows.end(), size_t{0});
  tree.nodes_.push_back({0, 0, 0, grower.Value(leaves[0].rows)});
  const double least_gain = kLeastGain * grower.Total(leaves[0].rows);
  leaves[0].split = grower.BestSplit(leaves[0].rows, least_gain);
  for (size_t split = 0; split < settings.most_splits; ++split) {
    const auto best =
        std::max_element(leaves.begin(), leaves.end(),
                         [](const Leaf& a, const Leaf& b) { return a.split.gain < b.split.gain; });
    if (best->split.gain <= 0) break;
    const Split chosen = best->split;
    Leaf right;
    std::vector<size_t> left_rows;
    for (const size_t row : best->rows) {
      (data.rows[row][chosen.feature] < chosen.threshold ? left_rows : right.rows).push_back(row);
    }
    const size_t left = tree.nodes_.size();
    Node& parent = tree.nodes_[best->node];
    parent = {chosen.feature, chosen.threshold, left, parent.value};
    tree.nodes_.push_back({0, 0, 0, grower.Value(left_rows)});
    tree.nodes_.push_back({0, 0, 0, grower.Value(right.rows)});
    right.node = left + 1;
    right.split = grower.BestSplit(right.rows, least_gain);
    best->node = left;
    best->split = grower.BestSplit(left_rows, least_gain);
    best->rows = std::move(left_rows);
    leaves.push_back(std::move(right));
  }
  return tree;
}

Cart Cart::GrowCrossValidated(CartKind kind, const CartData& data, uint64_t seed) {
  std::vector<size_t> order(data.size());
  std::iota(order.begin(), order.end(), size_t{0});
  Random random(seed);
  random.Shuffle(std::span(order));
  std::vector<size_t> folds(data.size());
  for (size_t i = 0; i < order.size(); ++i) folds[order[i]] = i % kFolds;
  CartSettings best;
  double least_loss = -1;
  const size_t most = std::max<size_t>(2, data.size() / 2);
  for (size_t least = 1, next = 2; least <= most;) {
    const CartSettings settings = {best.most_splits, least};
    const double loss = CrossValidatedLoss(kind, data, folds, settings);
    if (least_loss < 0 || loss < least_loss) {
      least_loss = loss;
      best.least_in_leaf = least;
    }
    const size_t sum = least + next;  // 1, 2, 3, 5, 8, ...
    least = next;
    next = sum;
  }
  return Grow(kind, data, best);
}

double Cart::Predict(std::span<const double> row) const {
  size_t at = 0;
  while (nodes_[at].left != 0) {
    const Node& node = nodes_[at];
    at = node.left + (row[node.feature] < node.threshold ? 0 : 1);
  }
  return nodes_[at].value;
}

void Cart::AppendText(std::string& text) const {
  text += "tree";
  for (const Node& node : nodes_) {
    text += node.left == 0
                ? fmt::format(" ={}", HexFloat(node.value))
                : fmt::format(" {}:{}:{}", node.feature, node.left, HexFloat(node.threshold));
  }
  text += '\n';
}

Result<Cart> Cart::ReadFrom(ModelLines& lines, size_t features, size_t classes) {
  ATTUNE_ASSIGN_OR_RETURN(const std::vector<std::string_view> words, lines.Words("tree"));
  if (words.size() > kMostNodes) return lines.Wrong("a tree has too many nodes.");
  Cart tree;
  for (const std::string_view word : words) {
    const std::optional<CartWord> node = ParseCartWord(word);
    const size_t at = tree.nodes_.size();
    if (!node) return lines.Wrong(fmt::format("'{}' is no node of a tree.", Excerpt(word)));
    // Nodes follow their parent, so that no walk is circular.
    const bool leads_on = node->left == 0 || (node->left > at && node->left < words.size() - 1 &&
                                              node->column < features);
    if (!leads_on) return lines.Wrong(fmt::format("node {} of a tree leads nowhere.", at));
    const bool is_class = node->number >= 0 && node->number < static_cast<double>(classes) &&
                          node->number == std::floor(node->number);
    if (classes > 0 && node->left == 0 && !is_class) {
      return lines.Wrong(fmt::format("node {} of a tree is of no class.", at));
    }
    tree.nodes_.push_back(node->left == 0 ? Node{0, 0, 0, node->number}
                                          : Node{node->column, node->number, node->left, 0});
  }
  return tree;
}

}  // namespace attune::seer
