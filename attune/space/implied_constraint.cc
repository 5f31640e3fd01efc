#include "attune/space/implied_constraint.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace attune {
namespace {

using Op = ExpressionOp;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Doubles represent all integers up to this size exactly, and those below the next one do not
// overflow.
constexpr double kExact = 0x1p53;
constexpr double kSafe = 0x1p62;

// How a value changes where one parameter rises and all else stays.
enum class Trend { kNone, kRises, kFalls, kUnknown };

Trend Reversed(Trend trend) {
  if (trend == Trend::kRises) return Trend::kFalls;
  return trend == Trend::kFalls ? Trend::kRises : trend;
}

Trend Joined(Trend a, Trend b) {
  if (a == Trend::kNone) return b;
  return b == Trend::kNone || a == b ? a : Trend::kUnknown;
}

// Known properties of the values of a node.
struct Shape {
  double low = -kInfinity;
  double high = kInfinity;
  bool is_integer = true;
  std::vector<Trend> trends;  // By place among the later names.

  bool is_safe() const { return low > -kSafe && high < kSafe; }
  bool reads_later() const {
    return std::any_of(trends.begin(), trends.end(), [](Trend t) { return t != Trend::kNone; });
  }
};

class Analysis {
 public:
  Analysis(const std::vector<std::string>& later, const ExpressionTree& tree,
           const RangeOf& range_of)
      : later_(later), tree_(tree), range_of_(range_of) {
    for (const ExpressionNode& node : tree.nodes) shapes_.push_back(ShapeOf(node));
  }

  std::vector<ExpressionTree> Implied() {
    Visit(tree_.root);
    return std::move(implied_);
  }

 private:
  // A shape for `node` of which only integrality and the parameters it depends on are known.
  Shape Unknown(const ExpressionNode& node) const {
    Shape shape;
    shape.trends.assign(later_.size(), Trend::kNone);
    for (const NodeIndex child : node.children) {
      const Shape& of = shapes_[child];
      shape.is_integer = shape.is_integer && of.is_integer;
      for (size_t i = 0; i < later_.size(); ++i) {
        if (of.trends[i] != Trend::kNone) shape.trends[i] = Trend::kUnknown;
      }
    }
    return shape;
  }

  Shape Known(double low, double high, bool is_integer) const {
    return {low, high, is_integer, std::vector<Trend>(later_.size(), Trend::kNone)};
  }

  Shape ShapeOf(const ExpressionNode& node) const {
    switch (node.op) {
      case Op::kInteger:
        return Known(static_cast<double>(node.integer), static_cast<double>(node.integer), true);
      case Op::kReal:
        return Known(node.real, node.real, false);
      case Op::kName:
        return Named(node);
      case Op::kAdd:
      case Op::kSubtract:
      case Op::kMultiply:
        return Arithmetic(node);
      default:
        return Unknown(node);
    }
  }

  Shape Named(const ExpressionNode& node) const {
    std::optional<NameRange> range = range_of_(node.text);
    if (range.has_value() && (range->low < -kExact || range->high > kExact)) range.reset();
    Shape shape = range.has_value() ? Known(range->low, range->high, range->is_integer)
                                    : Known(-kInfinity, kInfinity, false);
    const auto found = std::find(later_.begin(), later_.end(), node.text);
    if (found != later_.end()) {
      shape.trends[static_cast<size_t>(found - later_.begin())] =
          range.has_value() ? Trend::kRises : Trend::kUnknown;
    }
    return shape;
  }

  Shape Arithmetic(const ExpressionNode& node) const {
    Shape shape = Unknown(node);
    const Shape& a = shapes_[node.children[0]];
    const Shape& b = shapes_[node.children[1]];
    if (!a.is_safe() || !b.is_safe()) return shape;
    if (node.op == Op::kMultiply) {
      const double ends[] = {a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high};
      shape.low = *std::min_element(std::begin(ends), std::end(ends));
      shape.high = *std::max_element(std::begin(ends), std::end(ends));
    } else {
      const bool adds = node.op == Op::kAdd;
      shape.low = a.low + (adds ? b.low : -b.high);
      shape.high = a.high + (adds ? b.high : -b.low);
    }
    if (!shape.is_safe()) return shape;
    for (size_t i = 0; i < later_.size(); ++i) {
      const Trend of_b = node.op == Op::kSubtract ? Reversed(b.trends[i]) : b.trends[i];
      shape.trends[i] = Joined(a.trends[i], of_b);
      const bool keeps_signs = a.low >= 0 && b.low >= 0;
      const bool changes = shape.trends[i] != Trend::kNone;
      if (node.op == Op::kMultiply && changes && !keeps_signs) shape.trends[i] = Trend::kUnknown;
    }
    return shape;
  }

  // Visits the conditions that must hold for the node `index` to be true.
  void Visit(NodeIndex index) {
    const ExpressionNode& node = tree_.nodes[index];
    if (node.op == Op::kAnd) {
      for (const NodeIndex child : node.children) Visit(child);
    } else if (node.op == Op::kChain) {
      for (size_t i = 0; i < node.links.size(); ++i) {
        Compare(node.links[i], node.children[i], node.children[i + 1]);
      }
    } else if (node.op >= Op::kLess && node.op <= Op::kEqual) {
      Compare(node.op, node.children[0], node.children[1]);
    }
  }

  void Compare(Op op, NodeIndex a, NodeIndex b) {
    if (op == Op::kGreater) return Bound(Op::kLess, b, a);
    if (op == Op::kGreaterEqual) return Bound(Op::kLessEqual, b, a);
    if (op == Op::kLess || op == Op::kLessEqual) return Bound(op, a, b);
    if (op != Op::kEqual) return;
    Bound(Op::kLessEqual, a, b);
    Bound(Op::kLessEqual, b, a);
    Divisor(a, b);
    Factor(a, b);
    Factor(b, a);
  }

  // a < b or a <= b, with the later names as weak as they can be.
  void Bound(Op op, NodeIndex a, NodeIndex b) {
    if (!shapes_[a].is_safe() || !shapes_[b].is_safe()) return;
    if (!shapes_[a].reads_later() && !shapes_[b].reads_later()) return;
    std::vector<double> weakest;
    for (size_t i = 0; i < later_.size(); ++i) {
      const Trend trend = Joined(Reversed(shapes_[a].trends[i]), shapes_[b].trends[i]);
      if (trend == Trend::kUnknown) return;
      const auto range = range_of_(later_[i]);
      weakest.push_back(!range.has_value() ? 0 : trend == Trend::kRises ? range->high : range->low);
    }
    ExpressionTree implied = tree_;
    for (ExpressionNode& node : implied.nodes) {
      if (node.op != Op::kName) continue;
      const auto found = std::find(later_.begin(), later_.end(), node.text);
      if (found != later_.end()) Fix(node, weakest[static_cast<size_t>(found - later_.begin())]);
    }
    Add(std::move(implied), op, a, b);
  }

  // c % (x * y) == 0 of positive integers: x divides c, too.
  void Divisor(NodeIndex a, NodeIndex b) {
    const ExpressionNode& rest = tree_.nodes[a];
    const ExpressionNode& zero = tree_.nodes[b];
    if (rest.op != Op::kModulo || zero.op != Op::kInteger || zero.integer != 0) return;
    const Shape& divided = shapes_[rest.children[0]];
    if (divided.reads_later() || !divided.is_integer || !divided.is_safe()) return;
    ExpressionTree implied = tree_;
    if (!Divide(rest.children[1], implied)) return;
    Add(std::move(implied), Op::kEqual, a, b);
  }

  // c == x * y of positive integers: x divides c.
  void Factor(NodeIndex a, NodeIndex b) {
    const Shape& divided = shapes_[a];
    if (divided.reads_later() || !divided.is_integer || !divided.is_safe()) return;
    if (tree_.nodes[b].op != Op::kMultiply || !shapes_[b].reads_later()) return;
    ExpressionTree implied = tree_;
    if (!Divide(b, implied)) return;
    ExpressionNode rest;
    rest.op = Op::kModulo;
    rest.children = {a, b};
    implied.nodes.push_back(std::move(rest));
    ExpressionNode zero;
    zero.op = Op::kInteger;
    implied.nodes.push_back(std::move(zero));
    const auto last = static_cast<NodeIndex>(implied.nodes.size() - 1);
    Add(std::move(implied), Op::kEqual, last - 1, last);
  }

  // Puts 1 for the factors of `index` that read later names. False if it is no product of positive
  // integers.
  bool Divide(NodeIndex index, ExpressionTree& implied) const {
    const Shape& shape = shapes_[index];
    if (!shape.is_integer || !shape.is_safe() || shape.low < 1) return false;
    if (!shape.reads_later()) return true;
    const ExpressionNode& node = tree_.nodes[index];
    if (node.op == Op::kMultiply) {
      return Divide(node.children[0], implied) && Divide(node.children[1], implied);
    }
    Fix(implied.nodes[index], 1);
    return true;
  }

  void Fix(ExpressionNode& node, double value) const {
    const auto range = range_of_(node.text);
    const bool is_integer = node.op != Op::kName || !range.has_value() || range->is_integer;
    node.op = is_integer ? Op::kInteger : Op::kReal;
    node.integer = static_cast<int64_t>(value);
    node.real = value;
    node.children.clear();
  }

  void Add(ExpressionTree implied, Op op, NodeIndex a, NodeIndex b) {
    ExpressionNode root;
    root.op = op;
    root.children = {a, b};
    implied.nodes.push_back(std::move(root));
    implied.root = static_cast<NodeIndex>(implied.nodes.size() - 1);
    implied_.push_back(std::move(implied));
  }

  const std::vector<std::string>& later_;
  const ExpressionTree& tree_;
  const RangeOf& range_of_;
  std::vector<Shape> shapes_;
  std::vector<ExpressionTree> implied_;
};

}  // namespace

std::vector<ExpressionTree> ImpliedWithout(const std::vector<std::string>& later,
                                           const ExpressionTree& tree, const RangeOf& range_of) {
  return Analysis(later, tree, range_of).Implied();
}

}  // namespace attune
