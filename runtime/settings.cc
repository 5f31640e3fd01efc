#include "runtime/settings.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "attune/base/path_variable.h"
#include "attune/base/struct_size.h"
#include "attune/base/usable_cores.h"
#include "attune/index/candidate_models.h"
#include "attune/record/recording_run.h"
#include "runtime/variable_names.h"
#include "storage/sql/sql_store.h"

namespace attune {
namespace {

// The caller's text, else the variable's.
std::optional<std::string> Chosen(const char* text, const char* name,
                                  const ProcessVariables& variables) {
  if (text != nullptr) return std::string(text);
  return ValueOf(variables, name);
}

// A preset of the program says a policy, too, and goes before the environment with it.
std::optional<std::string> PolicyOfUser(const attune_options& options,
                                        const ProcessVariables& variables) {
  const bool has_preset = options.preset != nullptr && *options.preset != '\0';
  if (has_preset) return std::nullopt;
  return ValueOf(variables, "ATTUNE_POLICY");
}

Status ReadPolicy(const attune_options& options, const ProcessVariables& variables,
                  RuntimeOptions& result) {
  const auto preset_name = Chosen(options.preset, "ATTUNE_PRESET", variables);
  if (preset_name.has_value() && !preset_name->empty()) {
    const auto preset = ParsePreset(*preset_name);
    if (!preset.has_value()) {
      return InvalidArgument(fmt::format(
          "The preset '{}' is none of normal, fast, hybrid, dynamic_hybrid, trust_verify, "
          "trust_verify_full.",
          *preset_name));
    }
    result.server.policy = preset->policy;
    result.scope = preset->scope;
  }
  if (options.policy < ATTUNE_POLICY_DEFAULT || options.policy > ATTUNE_INLINE) {
    return InvalidArgument(fmt::format("Field 'policy' is {}; it has to be from 0 to {}.",
                                       static_cast<int>(options.policy),
                                       static_cast<int>(ATTUNE_INLINE)));
  }
  if (options.policy != ATTUNE_POLICY_DEFAULT) {
    result.server.policy = static_cast<MissPolicy>(options.policy - ATTUNE_NEVER);
  } else if (const auto name = PolicyOfUser(options, variables)) {
    const auto policy = ParseMissPolicy(*name);
    if (!policy.has_value()) {
      return InvalidArgument(fmt::format(
          "ATTUNE_POLICY is '{}'; it has to be never, record, deferred or inline.", *name));
    }
    result.server.policy = *policy;
  }
  switch (options.scope) {
    case ATTUNE_SCOPE_DEFAULT:
      return Status::Ok();
    case ATTUNE_SCOPE_DYNAMIC:
      result.scope = Scope::kDynamic;
      return Status::Ok();
    case ATTUNE_SCOPE_LOADED:
      result.scope = Scope::kLoaded;
      return Status::Ok();
    case ATTUNE_SCOPE_ALL:
      result.scope = Scope::kAll;
      return Status::Ok();
  }
  return InvalidArgument(fmt::format("Field 'scope' is {}; it has to be from 0 to {}.",
                                     static_cast<int>(options.scope),
                                     static_cast<int>(ATTUNE_SCOPE_ALL)));
}

Status ReadLimits(const attune_options& options, RuntimeOptions& result) {
  const auto is_wrong = [](int64_t value) { return value < 0; };
  if (is_wrong(options.max_plans) || is_wrong(options.tuning_budget_ms) ||
      is_wrong(options.per_problem_ms)) {
    return InvalidArgument(fmt::format(
        "Fields 'max_plans' ({}), 'tuning_budget_ms' ({}) and 'per_problem_ms' ({}) must not be "
        "negative.",
        options.max_plans, options.tuning_budget_ms, options.per_problem_ms));
  }
  if (!(options.tuning_cpu_share >= 0 && options.tuning_cpu_share <= 1)) {
    return InvalidArgument(fmt::format("Field 'tuning_cpu_share' is {}; it has to be from 0 to 1.",
                                       options.tuning_cpu_share));
  }
  if (options.max_plans > 0) result.server.max_plans = static_cast<size_t>(options.max_plans);
  if (options.per_problem_ms > 0) result.per_problem_ms = options.per_problem_ms;
  if (options.tuning_cpu_share > 0) result.tuning_cpu_share = options.tuning_cpu_share;
  result.tuning_budget_ms = options.tuning_budget_ms;
  return Status::Ok();
}

// What the caller's struct, perhaps of an older release, has of the fields.
Result<attune_options> Completed(const attune_options* options) {
  attune_options complete{};
  complete.struct_size = sizeof complete;
  if (options == nullptr) return complete;
  ATTUNE_RETURN_IF_ERROR(CheckStructSize(options->struct_size, offsetof(attune_options, packages),
                                         "the options", "ATTUNE_OPTIONS_INIT"));
  std::memcpy(&complete, options, std::min(sizeof complete, options->struct_size));
  return complete;
}

// An absolute path, valid after a chdir() and in the tuner. Relative paths from the program refer
// to its current folder; those from the environment, to its start folder.
std::string AbsoluteDatabase(std::string_view database, bool is_of_program) {
  for (const std::string_view scheme : {"sqlite://", "sqlite:"}) {
    if (!database.starts_with(scheme)) continue;
    database.remove_prefix(scheme.size());
    break;
  }
  if (database.empty() || !is_of_program) return FromStart(database);
  std::error_code error;
  const auto absolute = std::filesystem::absolute(database, error);
  return error ? FromStart(database) : absolute.string();
}

void ReadDatabase(const attune_options& options, const ProcessVariables& variables,
                  RuntimeOptions& result) {
  if (const auto database = Chosen(options.database, "ATTUNE_DB", variables)) {
    if (!IsOnServer(*database)) {
      result.database = AbsoluteDatabase(*database, options.database != nullptr);
      return;
    }
    result.unusable_database =
        "It is on a server, and a run time uses those in files. A package (attune golden export) "
        "serves what is known there.";
    result.notes.push_back("Nothing is tuned or recorded: " + result.unusable_database);
    return;
  }
  const auto path = DefaultDatabasePath();
  if (path.ok()) {
    result.database = *path;
  } else {
    result.notes.push_back(fmt::format("Nothing is tuned or recorded: {}", path.error().message()));
  }
}

// A switch of the environment: fails closed.
Result<bool> Switch(const char* name, const ProcessVariables& variables) {
  const std::string value = ValueOf(variables, name).value_or("");
  if (value == "1") return true;
  if (value.empty() || value == "0") return false;
  return InvalidArgument(fmt::format("{} is '{}'; it has to be 0 or 1.", name, value));
}

}  // namespace

Result<RuntimeOptions> ReadSettings(const attune_options* given,
                                    const ProcessVariables& variables) {
  ATTUNE_ASSIGN_OR_RETURN(const attune_options options, Completed(given));
  RuntimeOptions result;
  if (const auto device = Chosen(options.device, "ATTUNE_DEVICE", variables)) {
    result.device = *device;
  }
  ReadDatabase(options, variables, result);
  if (const auto packages = Chosen(options.packages, "ATTUNE_PACKAGES", variables)) {
    const bool is_of_program = options.packages != nullptr;
    ATTUNE_ASSIGN_OR_RETURN(result.packages,
                            ParsePackages(is_of_program ? *packages : ListFromStart(*packages)));
  }
  if (const auto tag = Chosen(options.record_tag, "ATTUNE_RECORD_TAG", variables)) {
    result.record_tag = *tag;
  }
  if (const auto models = ValueOf(variables, "ATTUNE_TIME_MODELS")) {
    result.time_models = PathsIn(ListFromStart(*models));
  }
  ATTUNE_RETURN_IF_ERROR(ReadPolicy(options, variables, result));
  ATTUNE_RETURN_IF_ERROR(ReadLimits(options, result));
  result.force = ValueOf(variables, "ATTUNE_FORCE").value_or("");
  ATTUNE_ASSIGN_OR_RETURN(const bool deterministic, Switch("ATTUNE_DETERMINISTIC", variables));
  result.server.deterministic = options.deterministic != 0 || deterministic;
  result.known_only = options.known_only != 0;
  result.yields = options.yields != 0;
  result.max_threads = ThreadsAllowedBy(variables);
  result.server.thread_limit = {options.thread_limit, options.thread_limit_context};
  if (const int allowed = result.server.thread_limit.Now(); allowed > 0) {
    result.max_threads = result.max_threads > 0 ? std::min(result.max_threads, allowed) : allowed;
  }
  ATTUNE_ASSIGN_OR_RETURN(const bool special_values,
                          Switch("ATTUNE_IEEE_SPECIAL_VALUES", variables));
  result.ieee_special_values = options.ieee_special_values != 0 || special_values;
  for (std::string& note : NotesOnUnknownVariables(variables)) {
    result.notes.push_back(std::move(note));
  }
  ATTUNE_ASSIGN_OR_RETURN(result.prints_summary, Switch("ATTUNE_SUMMARY", variables));
  result.record_run = ValueOf(variables, kRecordRunVariable).value_or("");
  if (options.message != nullptr) {
    result.message = [take = options.message, context = options.message_context](
                         const std::string& line) { take(context, line.c_str()); };
  }
  return result;
}

}  // namespace attune
