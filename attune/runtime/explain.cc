#include "attune/runtime/explain.h"

#include <nlohmann/json.hpp>

namespace attune {
namespace {

nlohmann::json ToJson(const Dispatcher& dispatcher, const Problem& problem, const Option& option,
                      double best_ns) {
  nlohmann::json json = {{"candidate", Text(option.candidate)},
                         {"provenance", Name(option.origin)},
                         {"because", option.because},
                         {"is_ready", dispatcher.IsReady(problem, option)}};
  const auto add_if_known = [&](const char* key, double value) {
    json[key] = value > 0 ? nlohmann::json(value) : nlohmann::json(nullptr);
  };
  add_if_known("median_ns", option.median_ns);
  add_if_known("expected_ns", option.expected_ns);
  json["workspace_bytes"] = option.workspace_bytes >= 0 ? nlohmann::json(option.workspace_bytes)
                                                        : nlohmann::json(nullptr);
  const double guess_ns = option.best_guess_ns();
  add_if_known("slower_by", best_ns > 0 && guess_ns > 0 ? guess_ns / best_ns : 0);
  return json;
}

}  // namespace

Result<std::string> ExplainJson(Runtime& runtime, const Problem& problem,
                                uint64_t workspace_limit_bytes) {
  const PlanServer& server = runtime.server();
  const Dispatcher& dispatcher = server.dispatcher();
  ATTUNE_ASSIGN_OR_RETURN(
      const Decision decision,
      dispatcher.DecideWithin(problem, *server.choices(), workspace_limit_bytes));
  const double best_ns = decision.options.front().best_guess_ns();
  nlohmann::json json = {{"problem", Text(problem)},
                         {"target", Text(runtime.place().target)},
                         {"is_tuned", decision.is_tuned},
                         {"options", nlohmann::json::array()},
                         {"skipped", decision.skipped},
                         {"notes", runtime.notes()},
                         {"serves", nullptr},
                         {"better", nullptr}};
  for (const Option& option : decision.options) {
    json["options"].push_back(ToJson(dispatcher, problem, option, best_ns));
  }
  const Expectation expected = server.Expect(problem, decision);
  if (expected.option.has_value()) json["serves"] = Text(expected.option->candidate);
  const std::string preferred = Text(decision.options.front().candidate);
  if (json["serves"] != preferred) json["better"] = preferred;
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace attune
