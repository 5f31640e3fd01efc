#include "runtime/explain.h"

#include <nlohmann/json.hpp>

#include "attune/index/import_index.h"

namespace attune {
namespace {

constexpr const char* kImported = "imported";

nlohmann::json ToJson(const Dispatcher& dispatcher, const Problem& problem, const Option& option,
                      double best_ns) {
  nlohmann::json json = {{"candidate", Text(option.candidate)},
                         {"provenance", Name(option.origin)},
                         {"because", option.because},
                         {"is_ready", dispatcher.IsReady(problem, option)},
                         {"fails_capture", option.fails_capture},
                         {"ieee_special_values", option.keeps_special_values}};
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

std::string Dumped(const nlohmann::json& json) {
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

Result<Explanation> Explain(const Runtime& runtime, const Problem& problem,
                            uint64_t workspace_limit_bytes) {
  const PlanServer& server = runtime.server();
  Explanation explanation;
  explanation.problem = problem;
  ATTUNE_ASSIGN_OR_RETURN(
      explanation.decision,
      server.dispatcher().DecideWithin(problem, *server.choices(), workspace_limit_bytes));
  explanation.serves = server.Expect(problem, explanation.decision).option;
  explanation.notes = runtime.notes();
  return explanation;
}

std::string ExplanationJson(const Runtime& runtime, const Explanation& explanation) {
  const Decision& decision = explanation.decision;
  const double best_ns = explanation.preferred().best_guess_ns();
  nlohmann::json json = {{"problem", Text(explanation.problem)},
                         {"target", Text(runtime.place().target)},
                         {"is_tuned", decision.is_tuned},
                         {"options", nlohmann::json::array()},
                         {"skipped", decision.skipped},
                         {"notes", explanation.notes},
                         {"serves", nullptr},
                         {"better", nullptr}};
  for (const Option& option : decision.options) {
    json["options"].push_back(
        ToJson(runtime.server().dispatcher(), explanation.problem, option, best_ns));
  }
  if (explanation.serves.has_value()) json["serves"] = Text(explanation.serves->candidate);
  const std::string preferred = Text(explanation.preferred().candidate);
  if (json["serves"] != preferred) json["better"] = preferred;
  return Dumped(json);
}

Result<std::string> ImportExplanationJson(const Runtime& runtime, std::string_view target,
                                          const Problem& problem) {
  ATTUNE_ASSIGN_OR_RETURN(const auto choice, runtime.imports().Find(target, problem));
  nlohmann::json json = {{"problem", Text(problem)},
                         {"target", Text(ImportTargetOf(target))},
                         {"is_tuned", false},
                         {"provenance", choice.has_value() ? kImported : "unknown"},
                         {"file", nullptr},
                         {"parameters_file", nullptr},
                         {"options", nlohmann::json::array()},
                         {"skipped", nlohmann::json::array()},
                         {"notes", runtime.imports().notes()},
                         {"serves", nullptr},
                         {"better", nullptr}};
  if (!choice.has_value()) return Dumped(json);
  json["file"] = ImportedFileOf(*choice);
  if (const std::string file = ParametersFileOf(*choice); !file.empty()) {
    json["parameters_file"] = file;
  }
  for (const RankedCandidate& each : choice->ranking) {
    json["options"].push_back({{"candidate", Text(each.candidate)},
                               {"provenance", kImported},
                               {"because", choice->because},
                               {"is_ready", false},
                               {"fails_capture", false},
                               {"median_ns", each.median_ns},
                               {"expected_ns", nullptr},
                               {"workspace_bytes", each.workspace_bytes},
                               {"slower_by", each.median_ns / choice->best().median_ns}});
  }
  return Dumped(json);
}

}  // namespace attune
