// Implements the parts of an operator that follow from its table of fields.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attune/problem/operator.h"
#include "attune/problem/problem.h"
#include "attune/problem/text_fields.h"

namespace attune {

// Calls Validate() of T, which argument-dependent lookup finds. Inside of TypedOperator, its own
// Validate() hides it.
template <class T>
Status ValidateValue(const T& value) {
  return Validate(value);
}

// An operator with problems that are values of T. T is copyable, has ==, and has free functions
// `Status Validate(const T&)` and `const Operator& OperatorOf(const T*)`.
template <class T>
class TypedOperator : public Operator {
 public:
  bool Equal(const Problem& a, const Problem& b) const final { return Of(a) == Of(b); }

  Status Validate(const Problem& problem) const final { return ValidateValue(Of(problem)); }

  Problem Canonical(const Problem& problem) const final {
    T value = Normal(Of(problem));
    return value == Of(problem) ? problem : Problem(std::move(value));
  }

  std::string TextOf(const Problem& problem) const final {
    const T value = Normal(Of(problem));
    std::string text;
    text.reserve(192);
    text += name();
    text += '@';
    text += std::to_string(version());
    AppendFields(fields(), &value, text);
    return text;
  }

  Parsed<Problem> Read(const TextFields& text) const final {
    T value{};
    if (auto error = Prepare(text, value)) return tl::unexpected(std::move(*error));
    if (auto error = ReadFields(text, fields(), &value)) return tl::unexpected(std::move(*error));
    return Problem(Normal(std::move(value)));
  }

  Result<Problem> ReadCall(const void* call, CallClasses classes) const final {
    T value{};
    ATTUNE_RETURN_IF_ERROR(ReadCallMembers(fields(), call, &value));
    ATTUNE_RETURN_IF_ERROR(FinishCall(classes, value));
    value = Normal(std::move(value));
    ATTUNE_RETURN_IF_ERROR(ValidateValue(value));
    return Problem(std::move(value));
  }

  Problem With(const Problem& problem, const ProblemField& field, int64_t number) const final {
    T value = Of(problem);
    field.set(&value, number);
    return Problem(std::move(value));
  }

  Problem SmallestLike(const Problem& problem, const Keeps& keeps) const final {
    T value = Normal(Of(problem));
    for (const ProblemField& field : fields()) {
      const bool is_size = field.kind == FieldKind::kSize && !field.name.empty();
      if (is_size && !keeps(field.name)) field.set(&value, field.smallest);
    }
    Grow(keeps, value);
    return Problem(Normal(std::move(value)));
  }

  std::string FamilyOf(const Problem& problem) const override {
    const T value = Normal(Of(problem));
    return FamilyOfFields(name(), fields(), &value);
  }
  Position PositionOf(const Problem& problem) const override {
    return PositionOfFields(fields(), problem.value());
  }
  std::string FeaturesName() const override { return std::string(name()) + "_fields_1"; }
  std::vector<std::string> FeatureNames() const override {
    std::vector<std::string> names = {"one", "flops", "bytes"};
    const std::vector<std::string> of_fields = FeatureNamesOfFields(fields());
    names.insert(names.end(), of_fields.begin(), of_fields.end());
    return names;
  }
  std::vector<double> FeatureValues(const Problem& problem) const override {
    std::vector<double> values = {1, std::max(Flops(problem), 1.0), CompulsoryBytes(problem)};
    const std::vector<double> of_fields = FeatureValuesOfFields(fields(), problem.value());
    values.insert(values.end(), of_fields.begin(), of_fields.end());
    return values;
  }
  std::string LabelOf(const Problem& problem) const override {
    return LabelOfFields(name(), fields(), problem.value());
  }

 protected:
  static const T& Of(const Problem& problem) { return problem.Get<T>(); }

  // Gives fields that are open, or that do not matter, their packed value.
  virtual void Normalize(T&) const {}
  // Called before the fields of a text are read, to set properties that are no fields of it.
  virtual std::optional<TextError> Prepare(const TextFields&, T&) const { return std::nullopt; }
  // Called after the members of a C struct are read, to set the alignment and derived properties.
  virtual Status FinishCall(CallClasses, T&) const { return Status::Ok(); }
  // Enlarges sizes that SmallestLike() made too small for the sizes that it kept.
  virtual void Grow(const Keeps&, T&) const {}

 private:
  T Normal(T value) const {
    Normalize(value);
    return value;
  }
};

}  // namespace attune
