#include "attune/kernel/kernel_plan.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <limits>

#include <fmt/format.h>

#include "attune/kernel/own_kernel_reader.h"
#include "attune/kernel/problem_fields.h"
#include "attune/ops/registry.h"
#include "attune/space/first_config.h"

namespace attune::kernel {
namespace {

// C has no literal of the smallest integer.
std::string MacroText(const ParameterValue& value) {
  if (value == ParameterValue(INT64_MIN)) return "(-9223372036854775807 - 1)";
  return attune::Text(value);
}

constexpr int64_t kMaxLocalItems = 1 << 20;
constexpr int64_t kMaxGroups = int64_t{1} << 31;
// CUDA's limit in all dimensions but the first.
constexpr int64_t kMaxLaterCudaGroups = 65535;
constexpr int64_t kMaxSharedBytes = 1 << 20;
constexpr int64_t kMaxClusterGroups = 16;
constexpr int64_t kMaxWorkspaceBytes = int64_t{1} << 40;

// The names that expressions read, and their values.
class Scope {
 public:
  explicit Scope(Config values) : values_(std::move(values)) {}

  void Add(const std::string& name, ParameterValue value) { values_[name] = std::move(value); }
  void Add(const Config& more) {
    for (const auto& [name, value] : more) values_[name] = value;
  }
  const Config& values() const { return values_; }

  // Valid as long as the scope.
  Expression::Lookup Lookup() const {
    return [this](std::string_view name) -> const ParameterValue* {
      const auto found = values_.find(name);
      return found == values_.end() ? nullptr : &found->second;
    };
  }

  Result<ParameterValue> Evaluate(const Expression& expression) const {
    return Explained(expression, expression.Evaluate(Lookup()));
  }
  Result<bool> EvaluateBool(const Expression& expression) const {
    return Explained(expression, expression.EvaluateBool(Lookup()));
  }
  Result<int64_t> EvaluateInteger(const Expression& expression, int64_t least, int64_t most) const {
    Result<int64_t> value = Explained(expression, expression.EvaluateInteger(Lookup()));
    if (value.ok() && (*value < least || *value > most)) {
      return Unsupported(fmt::format("'{}' is {} for this problem; {} to {} are possible.",
                                     expression.text(), *value, least, most));
    }
    return value;
  }

 private:
  template <class T>
  static Result<T> Explained(const Expression& expression, Result<T> value) {
    if (value.ok()) return value;
    return Unsupported(fmt::format("'{}' has no value for this problem: {}", expression.text(),
                                   value.error().message()));
  }

  Config values_;
};

Status AddNamed(const std::vector<NamedExpression>& named, Scope& scope) {
  for (const NamedExpression& entry : named) {
    ATTUNE_ASSIGN_OR_RETURN(ParameterValue value, scope.Evaluate(entry.value));
    scope.Add(entry.name, std::move(value));
  }
  return Status::Ok();
}

// Everything but the variables.
Result<Scope> BuildScope(const KernelFile& file, const Problem& problem, const Config& config) {
  Scope scope(FieldsOf(problem));
  scope.Add(config);
  ATTUNE_RETURN_IF_ERROR(AddNamed(file.definitions, scope));
  return scope;
}

KernelArgument::Kind Resolved(KernelArgument::Kind kind, DataType output) {
  if (kind != KernelArgument::Kind::kReal) return kind;
  return output == DataType::kF64 ? KernelArgument::Kind::kDouble : KernelArgument::Kind::kFloat;
}

Result<PlannedArgument> PlanScalar(const KernelArgument& argument, const Scope& scope,
                                   DataType output) {
  using Kind = KernelArgument::Kind;
  PlannedArgument planned;
  planned.kind = Resolved(argument.kind, output);
  const Expression& value = *argument.value;
  if (planned.kind == Kind::kFloat || planned.kind == Kind::kDouble) {
    if (value.text() == "alpha" || value.text() == "beta") {
      planned.value = value.text() == "alpha" ? CallScalar::kAlpha : CallScalar::kBeta;
      return planned;
    }
    ATTUNE_ASSIGN_OR_RETURN(const ParameterValue number, scope.Evaluate(value));
    if (const int64_t* integer = std::get_if<int64_t>(&number)) {
      planned.value = static_cast<double>(*integer);
    } else if (const double* real = std::get_if<double>(&number)) {
      planned.value = *real;
    } else {
      return Unsupported(fmt::format("'{}' is not a number.", value.text()));
    }
    return planned;
  }
  const bool is_int = planned.kind == Kind::kInt;
  const int64_t least = planned.kind == Kind::kLocalBytes ? 1
                        : is_int                          ? std::numeric_limits<int32_t>::min()
                                                          : std::numeric_limits<int64_t>::min();
  const int64_t most = planned.kind == Kind::kLong ? std::numeric_limits<int64_t>::max()
                                                   : std::numeric_limits<int32_t>::max();
  ATTUNE_ASSIGN_OR_RETURN(const int64_t integer, scope.EvaluateInteger(value, least, most));
  planned.value = integer;
  return planned;
}

int64_t MostGroups(KernelLanguage language, size_t dimension) {
  if (language == KernelLanguage::kOpenCl) return kMaxGroups;
  return dimension == 0 ? kMaxGroups - 1 : kMaxLaterCudaGroups;
}

// A cluster of one work-group counts as none: a device without clusters can launch it.
Status PlanCluster(const KernelLaunch& launch, const Scope& scope, PlannedLaunch& planned) {
  int64_t size = 1;
  for (size_t i = 0; i < launch.cluster.size(); ++i) {
    ATTUNE_ASSIGN_OR_RETURN(const int64_t extent,
                            scope.EvaluateInteger(launch.cluster[i], 1, kMaxClusterGroups / size));
    if (planned.groups[i] % extent != 0) {
      return Unsupported(
          fmt::format("{} work-groups are not a multiple of '{}', which is {} for this problem.",
                      planned.groups[i], launch.cluster[i].text(), extent));
    }
    size *= extent;
    planned.cluster.push_back(extent);
  }
  if (size == 1) planned.cluster.clear();
  return Status::Ok();
}

Result<PlannedLaunch> PlanLaunch(const KernelLaunch& launch, const Scope& scope, DataType output,
                                 KernelLanguage language) {
  PlannedLaunch planned;
  planned.function = launch.function;
  int64_t local_items = 1;
  for (size_t i = 0; i < launch.local.size(); ++i) {
    ATTUNE_ASSIGN_OR_RETURN(
        const int64_t local,
        scope.EvaluateInteger(launch.local[i], 1, kMaxLocalItems / local_items));
    ATTUNE_ASSIGN_OR_RETURN(const int64_t groups,
                            scope.EvaluateInteger(launch.groups[i], 1, MostGroups(language, i)));
    local_items *= local;
    planned.local.push_back(local);
    planned.groups.push_back(groups);
  }
  if (launch.shared_bytes) {
    ATTUNE_ASSIGN_OR_RETURN(planned.shared_bytes,
                            scope.EvaluateInteger(*launch.shared_bytes, 0, kMaxSharedBytes));
  }
  if (launch.cooperative) {
    ATTUNE_ASSIGN_OR_RETURN(const int64_t cooperative,
                            scope.EvaluateInteger(*launch.cooperative, 0, 1));
    planned.is_cooperative = cooperative != 0;
  }
  ATTUNE_RETURN_IF_ERROR(PlanCluster(launch, scope, planned));
  for (const KernelArgument& argument : launch.arguments) {
    if (argument.value) {
      ATTUNE_ASSIGN_OR_RETURN(PlannedArgument scalar, PlanScalar(argument, scope, output));
      planned.arguments.push_back(std::move(scalar));
    } else {
      planned.arguments.push_back({argument.kind, argument.name, int64_t{0}});
    }
  }
  return planned;
}

}  // namespace

std::string MacroOf(std::string size) {
  std::transform(size.begin(), size.end(), size.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return size;
}

Result<KernelPlan> MakePlan(const KernelFile& file, const Problem& problem, const Config& config) {
  ATTUNE_ASSIGN_OR_RETURN(Scope scope, BuildScope(file, problem, config));
  ATTUNE_RETURN_IF_ERROR(AddNamed(file.variables, scope));
  KernelPlan plan;
  for (const Operand& operand : Operands(problem)) {
    plan.operand_bytes[operand.name] = static_cast<int64_t>(SpanBytes(operand.tensor));
    plan.element_bytes[operand.name] = static_cast<int64_t>(SizeBytes(operand.tensor.type));
  }
  const DataType output = OutputType(problem);
  if (file.workspace_bytes) {
    ATTUNE_ASSIGN_OR_RETURN(plan.workspace_bytes,
                            scope.EvaluateInteger(*file.workspace_bytes, 0, kMaxWorkspaceBytes));
    plan.element_bytes[std::string(kWorkspaceName)] = static_cast<int64_t>(SizeBytes(output));
  }
  for (const KernelLaunch& launch : file.launches) {
    if (launch.when) {
      ATTUNE_ASSIGN_OR_RETURN(const bool wanted, scope.EvaluateBool(*launch.when));
      if (!wanted) continue;
    }
    ATTUNE_ASSIGN_OR_RETURN(PlannedLaunch planned,
                            PlanLaunch(launch, scope, output, file.language));
    plan.launches.push_back(std::move(planned));
  }
  if (plan.launches.empty())
    return Unsupported("No launch of this kernel file applies to this problem.");
  return plan;
}

Result<std::string> MakeMacros(const KernelFile& file, const Problem& problem,
                               const Config& config) {
  ATTUNE_ASSIGN_OR_RETURN(const Scope scope, BuildScope(file, problem, config));
  const FieldNames fields = FieldNamesFor(file);
  std::string macros;
  const auto is_in = [](const std::string& name, const std::vector<std::string>& names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  const auto is_fixed = [&](const std::string& size) {
    return is_in(size, file.compile_time_sizes);
  };
  const auto define = [&](const std::string& name, const ParameterValue& value) -> Status {
    if (std::holds_alternative<double>(value) && !file.own.has_value()) {
      return Unsupported(
          fmt::format("The definition '{}' is {}; only integers and names are compiled in.", name,
                      attune::Text(value)));
    }
    macros += fmt::format("#define {} {}\n", name, MacroText(value));
    return Status::Ok();
  };
  for (const std::vector<std::string>* names : {&fields.sizes, &fields.derived}) {
    for (const std::string& size : *names) {
      // A user's kernel names its arguments freely: `M` may have another meaning there.
      if (file.own.has_value() && !is_fixed(size)) continue;
      const ParameterValue value = is_fixed(size) ? scope.values().at(size) : ParameterValue(size);
      ATTUNE_RETURN_IF_ERROR(define(MacroOf(size), value));
    }
  }
  for (const Parameter& parameter : file.parameters) {
    const auto chosen = config.find(parameter.name);
    if (chosen == config.end()) {
      return InvalidArgument(
          fmt::format("The config {{{}}} has no parameter '{}' of kernel file '{}'.",
                      attune::Text(config), parameter.name, file.name));
    }
    if (is_in(parameter.name, file.run_time_parameters)) continue;
    ATTUNE_RETURN_IF_ERROR(define(parameter.name, chosen->second));
  }
  for (const NamedExpression& definition : file.definitions) {
    ATTUNE_RETURN_IF_ERROR(define(definition.name, scope.values().at(definition.name)));
  }
  return macros;
}

Result<std::string> MakeSource(const KernelFile& file, const Problem& problem,
                               const Config& config) {
  if (file.is_binary) return file.source;
  ATTUNE_ASSIGN_OR_RETURN(const std::string macros, MakeMacros(file, problem, config));
  std::string source;
  source.reserve(file.prelude.size() + macros.size() + file.source.size());
  return source.append(file.prelude).append(macros).append(file.source);
}

namespace {

// Checks that `problem` is of the user's kernel `file` and of its current content.
Status CheckIsOwn(const KernelFile& file, const Problem& problem) {
  ATTUNE_ASSIGN_OR_RETURN(const OwnKernelProblem own, OwnKernelOf(problem));
  if (own.name != file.own->name) {
    return Unsupported(
        fmt::format("The kernel {} computes its own problems, not those of the kernel {}.",
                    file.own->name, own.name));
  }
  if (own.content == file.own->content) return Status::Ok();
  return Unsupported(fmt::format(
      "The problem is of kernel {} with the content {}, and its file and sources have {} now.",
      own.name, own.content.ToHex(), file.own->content.ToHex()));
}

}  // namespace

Status CheckApplies(const KernelFile& file, const Problem& problem, const Config& device_limits) {
  if (OperatorName(problem) != file.operator_name) {
    return Unsupported(fmt::format("The kernel {} computes {}, not {}.", file.name,
                                   file.operator_name, OperatorName(problem)));
  }
  if (file.own.has_value()) ATTUNE_RETURN_IF_ERROR(CheckIsOwn(file, problem));
  Scope scope(FieldsOf(problem));
  scope.Add(device_limits);
  for (const Expression& rule : file.applies) {
    ATTUNE_ASSIGN_OR_RETURN(const bool holds, scope.EvaluateBool(rule));
    if (!holds) {
      return Unsupported(
          fmt::format("The kernel {} computes only problems with {}.", file.name, rule.text()));
    }
  }
  return Status::Ok();
}

Status CheckConstraints(const KernelFile& file, const Problem& problem, const Config& config,
                        const Config& device_limits) {
  Scope scope(FieldsOf(problem));
  scope.Add(device_limits);
  scope.Add(config);
  for (const Expression& constraint : file.constraints) {
    ATTUNE_ASSIGN_OR_RETURN(const bool holds, scope.EvaluateBool(constraint));
    if (!holds) {
      return Unsupported(fmt::format("The config {{{}}} breaks the constraint {} of the kernel {}.",
                                     attune::Text(config), constraint.text(), file.name));
    }
  }
  for (const Constraint& predicate : file.predicates) {
    ATTUNE_ASSIGN_OR_RETURN(const bool holds, predicate.holds(scope.Lookup()));
    if (!holds) {
      return Unsupported(fmt::format("The config {{{}}} breaks the constraint '{}' of the program.",
                                     attune::Text(config), predicate.text));
    }
  }
  return Status::Ok();
}

namespace {

SpaceDescription DescriptionOf(const KernelFile& file, const Problem& problem,
                               const Config& device_limits) {
  SpaceDescription description{file.parameters, {}, FieldsOf(problem)};
  for (const auto& [name, value] : device_limits) description.constants[name] = value;
  std::vector<Constraint>& constraints = description.constraints;
  for (size_t i = 0; i < file.constraints.size(); ++i) {
    constraints.push_back(ConstraintFrom(file.constraints[i]));
    if (!file.constraint_places.empty()) constraints.back().place = file.constraint_places[i];
  }
  constraints.insert(constraints.end(), file.predicates.begin(), file.predicates.end());
  return description;
}

}  // namespace

Result<ConfigSpace> MakeSpace(const KernelFile& file, const Problem& problem,
                              const Config& device_limits) {
  SpaceDescription description = DescriptionOf(file, problem, device_limits);
  return ConfigSpace::Create(std::move(description.parameters), std::move(description.constraints),
                             std::move(description.constants));
}

Result<Config> DefaultConfig(const KernelFile& file, const Problem& problem,
                             const Config& device_limits) {
  constexpr int64_t kMostChecks = 1000;
  Result<Config> first = FirstConfig(DescriptionOf(file, problem, device_limits), kMostChecks);
  if (first.status().code() != StatusCode::kResourceExhausted) return first;
  ATTUNE_ASSIGN_OR_RETURN(const ConfigSpace space, MakeSpace(file, problem, device_limits));
  return space.At(0);
}

Result<ConfigSpace> MakeSortedSpace(const KernelFile& file, const Problem& problem,
                                    const Config& device_limits) {
  ATTUNE_ASSIGN_OR_RETURN(const ConfigSpace space, MakeSpace(file, problem, device_limits));
  if (!file.cost || space.size() > ConfigSpace::kMaxSortedConfigs) return space;
  Scope scope(FieldsOf(problem));
  scope.Add(device_limits);
  return space.SortedBy([&](const Config& config) {
    scope.Add(config);
    constexpr int64_t kAny = std::numeric_limits<int64_t>::max();
    return scope.EvaluateInteger(*file.cost, -kAny, kAny);
  });
}

namespace {

// True if an option lets the compiler ignore NaN, infinity or denormal numbers.
bool RelaxesArithmetic(const KernelFile& file) {
  constexpr std::array kRelaxing = {"-cl-fast-relaxed-math",
                                    "-cl-finite-math-only",
                                    "-cl-unsafe-math-optimizations",
                                    "-cl-denorms-are-zero",
                                    "-use_fast_math",
                                    "--use_fast_math",
                                    "-ftz=true",
                                    "--ftz=true"};
  return std::any_of(
      file.compile_options.begin(), file.compile_options.end(), [&](const std::string& option) {
        return std::find(kRelaxing.begin(), kRelaxing.end(), option) != kRelaxing.end();
      });
}

}  // namespace

SolverTraits TraitsOf(const KernelFile& file) {
  SolverTraits traits;
  traits.description = file.description;
  traits.operator_name = file.operator_name;
  traits.dynamic = file.dynamic();
  traits.compiles = true;
  const Operator* const op = FindOperator(file.operator_name);
  const bool promises = op != nullptr && op->PromisesSpecialValues();
  traits.ieee_special_values = promises && !RelaxesArithmetic(file);
  traits.last_resort = file.own.has_value() && file.own->is_reference;
  return traits;
}

}  // namespace attune::kernel
