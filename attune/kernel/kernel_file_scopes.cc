#include "attune/kernel/kernel_file_scopes.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include <fmt/format.h>

#include "attune/kernel/device_limits.h"
#include "attune/kernel/kernel_plan.h"

namespace attune::kernel {
namespace {

using Names = std::set<std::string, std::less<>>;

// Call arguments that only scalars of a launch can be.
constexpr std::string_view kCallScalars[] = {"alpha", "beta"};

class ScopeChecker {
 public:
  ScopeChecker(const KernelFile& file, const FieldNames& fields) : file_(file) {
    for (const std::string_view limit : LimitNamesOf(file.languages)) limits_.emplace(limit);
    all_.insert(fields.sizes.begin(), fields.sizes.end());
    all_.insert(fields.derived.begin(), fields.derived.end());
    all_.insert(fields.classes.begin(), fields.classes.end());
    problem_ = all_;
    build_.insert(fields.classes.begin(), fields.classes.end());
    build_.insert(file.compile_time_sizes.begin(), file.compile_time_sizes.end());
    taken_ = all_;
    for (std::string_view name : kDeviceLimitNames) taken_.emplace(name);
    for (std::string_view name : kCallScalars) taken_.emplace(name);
    // Sizes are also macros in upper case.
    for (const std::string& size : fields.sizes) taken_.insert(MacroOf(size));
    for (const std::string& size : fields.derived) taken_.insert(MacroOf(size));
    for (const Parameter& parameter : file.parameters) declared_.insert(parameter.name);
    for (const NamedExpression& definition : file.definitions) declared_.insert(definition.name);
    for (const NamedExpression& variable : file.variables) declared_.insert(variable.name);
  }

  Status Check() {
    ATTUNE_RETURN_IF_ERROR(CheckList("applies", file_.applies, Union(problem_, limits_)));
    for (size_t i = 0; i < file_.parameters.size(); ++i) {
      ATTUNE_RETURN_IF_ERROR(
          Declare(fmt::format("/parameters/{}/name", i), file_.parameters[i].name));
      all_.insert(file_.parameters[i].name);
      build_.insert(file_.parameters[i].name);
    }
    for (const std::string& name : file_.run_time_parameters) build_.erase(name);
    // Constraints are part of the space, which knows no definitions.
    ATTUNE_RETURN_IF_ERROR(CheckList("constraints", file_.constraints, Union(all_, limits_)));
    if (file_.cost) {
      ATTUNE_RETURN_IF_ERROR(CheckOne("/cost", *file_.cost, Union(all_, limits_)));
    }
    ATTUNE_RETURN_IF_ERROR(CheckDefinitions());
    ATTUNE_RETURN_IF_ERROR(CheckVariables());
    if (file_.workspace_bytes) {
      ATTUNE_RETURN_IF_ERROR(CheckOne("/workspace_bytes", *file_.workspace_bytes, all_));
    }
    for (size_t i = 0; i < file_.launches.size(); ++i) {
      ATTUNE_RETURN_IF_ERROR(CheckLaunch(fmt::format("launches/{}", i), file_.launches[i]));
    }
    return file_.own.has_value() ? CheckReference(file_.own->reference) : Status::Ok();
  }

 private:
  static Names Union(Names a, const Names& b) {
    a.insert(b.begin(), b.end());
    return a;
  }

  Status Declare(std::string_view place, const std::string& name) {
    if (taken_.insert(name).second) return Status::Ok();
    return InvalidArgument(
        fmt::format("{}: the name '{}' is taken: by another name of this file, a field of the "
                    "problem, a limit of the "
                    "device or the macro of a size.",
                    place, name));
  }

  Status CheckOne(const std::string& place, const Expression& expression,
                  const Names& scope) const {
    for (const std::string& name : expression.names()) {
      if (scope.contains(name)) continue;
      const bool known = all_.contains(name) || limits_.contains(name) || taken_.contains(name) ||
                         declared_.contains(name);
      return InvalidArgument(
          fmt::format("{}: '{}' reads '{}', which {}.", place, expression.text(), name,
                      known ? "is not known where this is evaluated" : "does not exist"));
    }
    return Status::Ok();
  }

  Status CheckList(std::string_view key, const std::vector<Expression>& list,
                   const Names& scope) const {
    for (size_t i = 0; i < list.size(); ++i) {
      ATTUNE_RETURN_IF_ERROR(CheckOne(fmt::format("/{}/{}", key, i), list[i], scope));
    }
    return Status::Ok();
  }

  // Definitions are compiled in, so a run-time size in one would make the kernel less dynamic than
  // it says.
  Status CheckDefinitions() {
    for (size_t i = 0; i < file_.definitions.size(); ++i) {
      const NamedExpression& definition = file_.definitions[i];
      const std::string place = fmt::format("/definitions/{}", i);
      ATTUNE_RETURN_IF_ERROR(Declare(place + "/name", definition.name));
      ATTUNE_RETURN_IF_ERROR(CheckOne(place + "/value", definition.value, build_));
      build_.insert(definition.name);
      all_.insert(definition.name);
    }
    return Status::Ok();
  }

  Status CheckVariables() {
    for (size_t i = 0; i < file_.variables.size(); ++i) {
      const NamedExpression& variable = file_.variables[i];
      const std::string place = fmt::format("/variables/{}", i);
      ATTUNE_RETURN_IF_ERROR(Declare(place + "/name", variable.name));
      ATTUNE_RETURN_IF_ERROR(CheckOne(place + "/value", variable.value, all_));
      all_.insert(variable.name);
    }
    return Status::Ok();
  }

  Status CheckLaunch(const std::string& place, const KernelLaunch& launch) const {
    if (launch.when) ATTUNE_RETURN_IF_ERROR(CheckOne("/" + place + "/when", *launch.when, all_));
    // attune compiles one work-group size ahead of time; a user's kernel is not warmed up.
    const Names& local = file_.own.has_value() ? all_ : build_;
    ATTUNE_RETURN_IF_ERROR(CheckList(place + "/local", launch.local, local));
    ATTUNE_RETURN_IF_ERROR(CheckList(place + "/groups", launch.groups, all_));
    if (launch.shared_bytes) {
      ATTUNE_RETURN_IF_ERROR(CheckOne("/" + place + "/shared_bytes", *launch.shared_bytes, all_));
    }
    if (launch.cooperative) {
      ATTUNE_RETURN_IF_ERROR(CheckOne("/" + place + "/cooperative", *launch.cooperative, all_));
    }
    ATTUNE_RETURN_IF_ERROR(CheckList(place + "/cluster", launch.cluster, all_));
    for (size_t i = 0; i < launch.arguments.size(); ++i) {
      ATTUNE_RETURN_IF_ERROR(
          CheckArgument(fmt::format("/{}/arguments/{}", place, i), launch.arguments[i]));
    }
    return Status::Ok();
  }

  // Launches of a user's reference may read the same names as other launches.
  Status CheckReference(const OwnReference& reference) const {
    for (size_t i = 0; i < reference.launches.size(); ++i) {
      ATTUNE_RETURN_IF_ERROR(
          CheckLaunch(fmt::format("reference/launches/{}", i), reference.launches[i]));
    }
    return Status::Ok();
  }

  Status CheckArgument(const std::string& place, const KernelArgument& argument) const {
    using Kind = KernelArgument::Kind;
    if (argument.name == kWorkspaceName && !file_.workspace_bytes) {
      return InvalidArgument(place + ": there is no workspace: 'workspace_bytes' is missing.");
    }
    if (!argument.value) return Status::Ok();
    const bool floating = argument.kind == Kind::kFloat || argument.kind == Kind::kDouble ||
                          argument.kind == Kind::kReal;
    const bool from_call = std::find(std::begin(kCallScalars), std::end(kCallScalars),
                                     argument.value->text()) != std::end(kCallScalars);
    // A user's kernel has no scalars of a call: its values stand in the file.
    if (floating && from_call && !file_.own.has_value()) return Status::Ok();
    return CheckOne(place, *argument.value, all_);
  }

  const KernelFile& file_;
  Names limits_;
  Names problem_;  // Every field.
  Names build_;    // Known when compiling.
  Names all_;      // Known when launching.
  Names taken_;
  Names declared_;  // By the file, here or further on.
};

}  // namespace

Status CheckScopes(const KernelFile& file, const FieldNames& fields) {
  return ScopeChecker(file, fields).Check();
}

}  // namespace attune::kernel
