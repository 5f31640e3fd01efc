// The options of a run time, as a value.
#ifndef ATTUNE_OPTIONS_HPP_
#define ATTUNE_OPTIONS_HPP_

#include <chrono>
#include <cstdint>
#include <string>

#include "attune/attune.h"

namespace attune {
inline namespace v1 {

struct Options {
  std::string device;    // Empty: ATTUNE_DEVICE, else "cpu".
  std::string database;  // Empty: ATTUNE_DB, else the user's; "none" for no database.
  std::string packages;  // Empty: ATTUNE_PACKAGES.
  std::string preset;    // Empty: ATTUNE_PRESET.
  std::string record_tag;
  attune_policy policy = ATTUNE_POLICY_DEFAULT;
  attune_scope scope = ATTUNE_SCOPE_DEFAULT;
  std::int64_t max_plans = 0;
  std::chrono::milliseconds tuning_budget{0};
  std::chrono::milliseconds per_problem{0};
  double tuning_cpu_share = 0;
  bool deterministic = false;
  bool known_only = false;                     // As in attune_options.
  bool yields = false;                         // As in attune_options.
  bool ieee_special_values = false;            // As in attune_options.
  attune_thread_limit thread_limit = nullptr;  // As in attune_options.
  void* thread_limit_context = nullptr;

  // Borrows the texts.
  attune_options ToC() const {
    const auto text = [](const std::string& value) {
      return value.empty() ? nullptr : value.c_str();
    };
    attune_options c = ATTUNE_OPTIONS_INIT;
    c.device = text(device);
    c.database = database == "none" ? "" : text(database);
    c.packages = text(packages);
    c.preset = text(preset);
    c.record_tag = text(record_tag);
    c.policy = policy;
    c.scope = scope;
    c.max_plans = max_plans;
    c.tuning_budget_ms = tuning_budget.count();
    c.per_problem_ms = per_problem.count();
    c.tuning_cpu_share = tuning_cpu_share;
    c.deterministic = deterministic ? 1 : 0;
    c.known_only = known_only ? 1 : 0;
    c.yields = yields ? 1 : 0;
    c.ieee_special_values = ieee_special_values ? 1 : 0;
    c.thread_limit = thread_limit;
    c.thread_limit_context = thread_limit_context;
    return c;
  }
};

}  // namespace v1
}  // namespace attune

#endif  // ATTUNE_OPTIONS_HPP_
