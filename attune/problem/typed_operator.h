// An operator whose problems are values of T with a table of fields: everything that follows from
// the table.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attune/problem/operator.h"
#include "attune/problem/problem.h"
#include "attune/problem/text_fields.h"

namespace attune {

// T is copyable, compares by ==, and has free functions `Status Validate(const T&)` and
// OperatorOf(const T*). Equal problems have equal fields once they are Normalize()d.
template <class T>
class TypedOperator : public Operator {
 public:
  bool Equal(const Problem& a, const Problem& b) const final { return Of(a) == Of(b); }

  Status Validate(const Problem& problem) const final { return ValidateValue(Of(problem)); }

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

  // Puts the packed value where a field may be left open, so that equal problems compare equal.
  virtual void Normalize(T&) const {}
  // Before the fields of a text are read: what does not stand in one of them.
  virtual std::optional<TextError> Prepare(const TextFields&, T&) const { return std::nullopt; }
  // After the members of a C struct are read: what follows from others, and the alignment.
  virtual Status FinishCall(CallClasses, T&) const { return Status::Ok(); }
  // Makes sizes that SmallestLike() has shrunk as large as those that were kept need them.
  virtual void Grow(const Keeps&, T&) const {}

 private:
  T Normal(T value) const {
    Normalize(value);
    return value;
  }
  // Outside of this class, Validate() is found by its argument.
  static Status ValidateValue(const T& value);
};

template <class T>
Status CallValidate(const T& value) {
  return Validate(value);
}
template <class T>
Status TypedOperator<T>::ValidateValue(const T& value) {
  return CallValidate(value);
}

}  // namespace attune
