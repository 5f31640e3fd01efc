#include "attune/problem/other_op.h"

#include <algorithm>

#include <fmt/format.h>

#include "attune/base/never_destroyed.h"
#include "attune/ops/registry.h"
#include "attune/problem/escaping.h"
#include "attune/problem/own_kernel.h"
#include "attune/problem/problem.h"
#include "attune/problem/text_fields.h"

namespace attune {
namespace {

std::string_view AttributeOr(const OtherOp& other, const char* key, std::string_view otherwise) {
  const auto found = other.attributes.find(key);
  return found == other.attributes.end() ? otherwise : std::string_view(found->second);
}

// "2" where height and width agree, "1x2" where not.
std::string PairText(const OtherOp& other, const std::string& name) {
  const std::string_view height = AttributeOr(other, (name + "_h").c_str(), "?");
  const std::string_view width = AttributeOr(other, (name + "_w").c_str(), "?");
  return height == width ? std::string(height) : fmt::format("{}x{}", height, width);
}

// The text for an image of the published lists, with its depth if it has one.
std::string ImageText(const OtherOp& other) {
  const std::string_view depth = AttributeOr(other, "in_d", "0");
  return fmt::format("{}x{}x{}{}x{}", AttributeOr(other, "batchsize", "?"),
                     AttributeOr(other, "in_channels", "?"),
                     depth == "0" ? "" : fmt::format("{}x", depth), AttributeOr(other, "in_h", "?"),
                     AttributeOr(other, "in_w", "?"));
}

// "pool 128x64x112x112 max 3 s2 f32".
std::string PoolLabel(const OtherOp& other) {
  const std::string_view input = AttributeOr(other, "input", "");
  std::string text = fmt::format(
      "pool {}{} {} {}x{}", AttributeOr(other, "forw", "0") == "0" ? "" : "fwd ",
      input.empty() ? ImageText(other) : std::string(input), AttributeOr(other, "mode", "max"),
      AttributeOr(other, "win_h", "?"), AttributeOr(other, "win_w", "?"));
  if (const std::string pad = PairText(other, "pad"); pad != "0") text += " p" + pad;
  if (const std::string stride = PairText(other, "pool_stride"); stride != "1") {
    text += " s" + stride;
  }
  return text;
}

// "bnorm train 32x64x56x56 spatial nhwc".
std::string BatchNormLabel(const OtherOp& other) {
  const std::string_view forward = AttributeOr(other, "forw", "1");
  std::string text = fmt::format("bnorm {} {}",
                                 forward == "1"   ? "train"
                                 : forward == "2" ? "infer"
                                                  : "bwd",
                                 ImageText(other));
  if (AttributeOr(other, "mode", "0") == "1") text += " spatial";
  const std::string_view layout = AttributeOr(other, "layout", "nchw");
  if (layout.ends_with('c')) text += fmt::format(" {}", layout);
  return text;
}

// "matmul m=4096 n=128".
std::string OwnKernelLabel(const OwnKernelProblem& own) {
  std::string text = own.name;
  for (const auto& [name, value] : own.sizes) text += fmt::format(" {}={}", name, value);
  return text;
}

std::string OtherLabel(const OtherOp& other) {
  const bool known_form = other.attributes.contains("in_h") || other.attributes.contains("input");
  std::string text;
  if (known_form && other.op == "pool") {
    text = PoolLabel(other);
  } else if (known_form && other.op == "bnorm") {
    text = BatchNormLabel(other);
  } else {
    text = other.op;
    for (const auto& [key, value] : other.attributes) text += fmt::format(" {}={}", key, value);
    return text;
  }
  return text + fmt::format(" {}", AttributeOr(other, "type", "f32"));
}

class OtherOperator final : public Operator {
 public:
  std::string_view name() const override { return ""; }
  std::string_view NameOf(const Problem& problem) const override { return Of(problem).op; }
  std::span<const ProblemField> fields() const override { return {}; }
  bool Equal(const Problem& a, const Problem& b) const override { return Of(a) == Of(b); }
  Status Validate(const Problem& problem) const override;
  std::string TextOf(const Problem& problem) const override;
  Parsed<Problem> Read(const TextFields& text) const override;
  Result<Problem> ReadCall(const void*, CallClasses) const override {
    return Unsupported("No call of C has this operator.");
  }
  Problem With(const Problem& problem, const ProblemField&, int64_t) const override {
    return problem;
  }

  std::vector<Operand> Operands(const Problem& problem) const override {
    if (!IsOwnKernel(problem)) return {};
    const auto own = OwnKernelOf(problem);
    return own.ok() ? OperandsOf(*own) : std::vector<Operand>();
  }
  double Flops(const Problem&) const override { return 0; }
  int64_t ReductionLength(const Problem&) const override { return 0; }

  Problem SmallestLike(const Problem& problem, const Keeps&) const override { return problem; }
  std::string FamilyOf(const Problem&) const override { return {}; }
  Position PositionOf(const Problem&) const override { return {}; }
  std::string FeaturesName() const override { return {}; }
  std::vector<std::string> FeatureNames() const override { return {}; }
  std::vector<double> FeatureValues(const Problem&) const override { return {}; }
  std::string LabelOf(const Problem& problem) const override {
    if (const auto own = OwnKernelOf(problem); own.ok()) return OwnKernelLabel(*own);
    return OtherLabel(Of(problem));
  }

 private:
  static const OtherOp& Of(const Problem& problem) { return problem.Get<OtherOp>(); }
};

Status OtherOperator::Validate(const Problem& problem) const {
  constexpr const char* kWord = "a lower-case word ([a-z][a-z0-9_]*)";
  const OtherOp& other = Of(problem);
  if (!IsOperatorWord(other.op)) {
    return InvalidArgument(fmt::format("Operator name {} is not {}.", Quoted(other.op), kWord));
  }
  const Operator* const known = FindOperator(other.op);
  if (known != nullptr && known->version() == 1) {
    return InvalidArgument(
        fmt::format("Operator {} has fields of its own, and takes no others.", other.op));
  }
  if (other.attributes.size() > kMaxOtherAttributes) {
    return InvalidArgument(fmt::format("Operator {} has {} attributes, more than {}.", other.op,
                                       other.attributes.size(), kMaxOtherAttributes));
  }
  for (const auto& [key, value] : other.attributes) {
    if (IsOperatorWord(key)) continue;
    return InvalidArgument(
        fmt::format("Attribute name {} of operator {} is not {}.", Quoted(key), other.op, kWord));
  }
  return IsOwnKernel(problem) ? OwnKernelOf(problem).status() : Status::Ok();
}

std::string OtherOperator::TextOf(const Problem& problem) const {
  const OtherOp& other = Of(problem);
  std::string text = other.op + "@1{";
  for (const auto& [key, value] : other.attributes) {
    if (text.back() != '{') text += ',';
    text += key + '=' + Escaped(value);
  }
  return text + '}';
}

Parsed<Problem> OtherOperator::Read(const TextFields& text) const {
  OtherOp other;
  other.op = std::string(text.name);
  for (const TextField& field : text.fields) {
    if (!IsOperatorWord(field.key)) {
      return ErrorAtOffset(field.key_offset, fmt::format("Key {} is not a word of [a-z][a-z0-9_]*.",
                                                         Quoted(field.key)));
    }
    auto value = Unescaped(field.value);
    if (!value.has_value()) {
      return ErrorAtOffset(field.value_offset,
                           BadValueReason(field, "characters of [A-Za-z0-9 ._+-] and %XX escapes"));
    }
    other.attributes.emplace(field.key, std::move(*value));
  }
  return Problem(std::move(other));
}

}  // namespace

const Operator& OperatorOf(const OtherOp*) {
  static const NeverDestroyed<OtherOperator> op{OtherOperator()};
  return *op;
}

bool IsOperatorWord(std::string_view word) {
  if (word.empty() || word.front() < 'a' || word.front() > 'z') return false;
  return std::all_of(word.begin(), word.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

}  // namespace attune
