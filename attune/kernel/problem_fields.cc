#include "attune/kernel/problem_fields.h"

#include <algorithm>
#include <map>

#include "attune/base/never_destroyed.h"
#include "attune/ops/registry.h"
#include "attune/problem/own_kernel.h"

namespace attune::kernel {
namespace {

FieldNames NamesOf(const Operator& op) {
  FieldNames names;
  for (const ProblemField& field : op.fields()) {
    if (field.kind == FieldKind::kClass) names.classes.emplace_back(field.name);
  }
  names.sizes = op.SizeNames();
  names.derived = op.DerivedNames();
  names.operands = op.OperandNames();
  return names;
}

ParameterValue ValueOf(const ProblemField& field, int64_t number) {
  if (field.kernel_words.empty()) return number;
  return std::string(field.kernel_words[static_cast<size_t>(number)]);
}

}  // namespace

const FieldNames* FieldNamesOf(std::string_view operator_name) {
  using NamesByOperator = std::map<std::string_view, FieldNames>;
  static const NeverDestroyed<NamesByOperator> all([] {
    NamesByOperator by_operator;
    for (const Operator* op : Operators()) by_operator.emplace(op->name(), NamesOf(*op));
    return by_operator;
  }());
  const auto found = (*all).find(operator_name);
  return found == (*all).end() ? nullptr : &found->second;
}

Config FieldsOf(const Problem& problem) {
  Config fields;
  if (IsOwnKernel(problem)) {
    const auto own = OwnKernelOf(problem);
    if (!own.ok()) return fields;
    for (const auto& [name, value] : own->sizes) fields[name] = value;
    return fields;
  }
  const Problem canonical = problem.op().Canonical(problem);
  for (const ProblemField& field : problem.op().fields()) {
    if (field.name.empty()) continue;
    fields[std::string(field.name)] = ValueOf(field, field.get(canonical.value()));
  }
  for (auto& [name, value] : problem.op().DerivedSizes(canonical)) fields[name] = value;
  return fields;
}

Result<Problem> SmallestLike(const Problem& problem, const std::vector<std::string>& kept) {
  if (IsOwnKernel(problem)) {
    return Unsupported("Which sizes a user's kernel is right for, nobody here knows.");
  }
  Problem smallest = problem.op().SmallestLike(problem, [&](std::string_view name) {
    return std::find(kept.begin(), kept.end(), name) != kept.end();
  });
  const Status valid = Validate(smallest);
  if (!valid.ok())
    return Unsupported("There is no small problem like this one: " + valid.message());
  return smallest;
}

}  // namespace attune::kernel
