#include "attune/library/tool_description.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "attune/base/json_reader.h"
#include "attune/base/text.h"
#include "attune/problem/other_op.h"

namespace attune {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;
constexpr int64_t kNsPerMs = 1'000'000;
constexpr int64_t kMostTimeoutMs = int64_t{7} * 24 * 3600 * 1000;
constexpr int kMostVersion = 1'000'000'000;
constexpr uint64_t kMostInteger = std::numeric_limits<int64_t>::max();
constexpr int kMostLevels = 16;
constexpr size_t kMostWords = 1024;

// A value and its position, for messages. Borrows the document.
struct Node {
  const Json& json;
  std::string pointer;

  // Messages of other readers may end with a full stop already.
  Status Wrong(std::string_view what) const {
    if (what.ends_with('.')) what.remove_suffix(1);
    return InvalidArgument(fmt::format("{}: {}.", pointer.empty() ? "/" : pointer, what));
  }
  bool Has(const char* key) const { return json.contains(key); }
  Node At(const char* key) const { return {json[key], fmt::format("{}/{}", pointer, key)}; }
  Node At(size_t index) const { return {json[index], fmt::format("{}/{}", pointer, index)}; }
};

// `node` is an object of no other keys than `known`.
Status CheckObject(const Node& node, const std::set<std::string_view>& known) {
  if (!node.json.is_object()) return node.Wrong("it has to be an object");
  for (const auto& [key, value] : node.json.items()) {
    if (!known.contains(key))
      return node.Wrong(fmt::format("the key '{}' is unknown", Excerpt(key)));
  }
  return Status::Ok();
}

Result<std::string> TextOf(const Node& node) {
  if (!node.json.is_string()) return node.Wrong("it has to be a text");
  auto text = node.json.get<std::string>();
  if (text.find('\0') != std::string::npos) return node.Wrong("a text may hold no NUL");
  return text;
}

Result<std::string> WordOf(const Node& node) {
  ATTUNE_ASSIGN_OR_RETURN(std::string word, TextOf(node));
  if (!IsOperatorWord(word)) {
    return node.Wrong(fmt::format("'{}' is no word of [a-z][a-z0-9_]*", Excerpt(word)));
  }
  return word;
}

Result<int64_t> IntegerOf(const Node& node, int64_t most) {
  const bool is_integer = node.json.is_number_integer();
  const int64_t value = is_integer ? node.json.get<int64_t>() : 0;
  if (value < 1 || value > most) {
    return node.Wrong(fmt::format("it has to be a whole number from 1 to {}", most));
  }
  return value;
}

Result<char> CharacterOf(const Node& node) {
  ATTUNE_ASSIGN_OR_RETURN(const std::string text, TextOf(node));
  if (text.size() != 1 || text == "\n") return node.Wrong("it has to be one character");
  return text[0];
}

Status CheckArray(const Node& node, size_t least, size_t most) {
  if (node.json.is_array() && node.json.size() >= least && node.json.size() <= most) {
    return Status::Ok();
  }
  return node.Wrong(fmt::format("it has to be an array of {} to {} elements", least, most));
}

Result<WordTemplate> TemplateOf(const Node& node) {
  ATTUNE_ASSIGN_OR_RETURN(const std::string text, TextOf(node));
  auto word = WordTemplate::Parse(text);
  if (!word.ok()) return node.Wrong(word.error().message());
  return word;
}

Result<Expression> ExpressionOf(const Node& node) {
  ATTUNE_ASSIGN_OR_RETURN(const std::string text, TextOf(node));
  auto expression = Expression::Parse(text);
  if (!expression.ok()) return node.Wrong(expression.error().message());
  return expression;
}

Result<ParameterValue> ValueOf(const Node& node) {
  std::optional<ParameterValue> value;
  // A larger one would come out as a negative number.
  if (node.json.is_number_unsigned() && node.json.get<uint64_t>() > kMostInteger) {
    return node.Wrong(fmt::format("{} is larger than {}, the largest whole number",
                                  node.json.get<uint64_t>(), kMostInteger));
  }
  if (node.json.is_number_integer()) value = node.json.get<int64_t>();
  if (node.json.is_number_float()) value = node.json.get<double>();
  if (node.json.is_string()) value = node.json.get<std::string>();
  if (!value.has_value() || !IsWellFormed(*value)) {
    return node.Wrong("it has to be a number, or a text of [A-Za-z_:][A-Za-z0-9_.:+-]*");
  }
  return *value;
}

Result<std::vector<Parameter>> ParametersOf(const Node& node) {
  if (!node.json.is_object()) return node.Wrong("it has to be an object");
  std::vector<Parameter> parameters;
  for (const auto& [name, values] : node.json.items()) {
    const Node at{values, fmt::format("{}/{}", node.pointer, name)};
    const bool is_taken =
        std::find(std::begin(kToolWords), std::end(kToolWords), name) != std::end(kToolWords);
    if (!IsParameterName(name) || is_taken) {
      return at.Wrong("this is no name that a parameter can have");
    }
    ATTUNE_RETURN_IF_ERROR(CheckArray(at, 1, kMostWords));
    Parameter& parameter = parameters.emplace_back();
    parameter.name = name;
    for (size_t i = 0; i < values.size(); ++i) {
      ATTUNE_ASSIGN_OR_RETURN(parameter.values.emplace_back(), ValueOf(at.At(i)));
    }
  }
  return parameters;
}

// The names of the problem's fields that the templates of `solver` need.
std::vector<std::string> FieldsOf(const ToolSolver& solver) {
  std::set<std::string> names;
  for (const WordTemplate& word : solver.argv) {
    names.insert(word.names().begin(), word.names().end());
  }
  for (const auto& [variable, word] : solver.environment) {
    names.insert(word.names().begin(), word.names().end());
  }
  for (const std::string_view word : kToolWords) names.erase(std::string(word));
  for (const Parameter& parameter : solver.parameters) names.erase(parameter.name);
  return {names.begin(), names.end()};
}

Status ReadRules(const Node& node, ToolSolver& solver) {
  if (node.Has("constraints")) {
    const Node rules = node.At("constraints");
    ATTUNE_RETURN_IF_ERROR(CheckArray(rules, 0, kMostWords));
    for (size_t i = 0; i < rules.json.size(); ++i) {
      ATTUNE_ASSIGN_OR_RETURN(Expression rule, ExpressionOf(rules.At(i)));
      solver.constraints.push_back(ConstraintFrom(std::move(rule)));
    }
  }
  if (!node.Has("applies")) return Status::Ok();
  const Node rules = node.At("applies");
  ATTUNE_RETURN_IF_ERROR(CheckArray(rules, 0, kMostWords));
  for (size_t i = 0; i < rules.json.size(); ++i) {
    ATTUNE_ASSIGN_OR_RETURN(Expression rule, ExpressionOf(rules.At(i)));
    solver.applies.push_back(std::move(rule));
  }
  return Status::Ok();
}

Result<ToolSolver> SolverOf(const Node& node) {
  ATTUNE_RETURN_IF_ERROR(CheckObject(
      node, {"name", "version", "argv", "environment", "parameters", "constraints", "applies"}));
  if (!node.Has("name") || !node.Has("argv")) return node.Wrong("a solver needs 'name' and 'argv'");
  ToolSolver solver;
  ATTUNE_ASSIGN_OR_RETURN(solver.name, WordOf(node.At("name")));
  if (node.Has("version")) {
    ATTUNE_ASSIGN_OR_RETURN(const int64_t version, IntegerOf(node.At("version"), kMostVersion));
    solver.version = static_cast<int>(version);
  }
  const Node argv = node.At("argv");
  ATTUNE_RETURN_IF_ERROR(CheckArray(argv, 1, kMostWords));
  for (size_t i = 0; i < argv.json.size(); ++i) {
    ATTUNE_ASSIGN_OR_RETURN(solver.argv.emplace_back(), TemplateOf(argv.At(i)));
  }
  const auto& program = solver.argv.front().names();
  if (std::any_of(program.begin(), program.end(),
                  [](const auto& name) { return name != "folder"; })) {
    return argv.At(size_t{0}).Wrong("of the program's path only {folder} may depend on anything");
  }
  if (node.Has("environment")) {
    const Node environment = node.At("environment");
    if (!environment.json.is_object()) return environment.Wrong("it has to be an object");
    for (const auto& [name, value] : environment.json.items()) {
      const Node at{value, fmt::format("{}/{}", environment.pointer, name)};
      if (!IsParameterName(name)) return at.Wrong("this is no name of a variable");
      ATTUNE_ASSIGN_OR_RETURN(WordTemplate word, TemplateOf(at));
      solver.environment.emplace(name, std::move(word));
    }
  }
  if (node.Has("parameters")) {
    ATTUNE_ASSIGN_OR_RETURN(solver.parameters, ParametersOf(node.At("parameters")));
  }
  ATTUNE_RETURN_IF_ERROR(ReadRules(node, solver));
  solver.fields = FieldsOf(solver);
  return solver;
}

Result<PrintedFormat> FormatOf(const Node& node) {
  ATTUNE_RETURN_IF_ERROR(
      CheckObject(node, {"time", "unit", "workspace", "separator", "assign", "only"}));
  PrintedFormat format;
  if (node.Has("time")) {
    ATTUNE_ASSIGN_OR_RETURN(format.time, TextOf(node.At("time")));
    if (format.time.empty()) return node.At("time").Wrong("a line without a time has no result");
  }
  if (node.Has("workspace")) {
    ATTUNE_ASSIGN_OR_RETURN(format.workspace, TextOf(node.At("workspace")));
  }
  if (node.Has("unit")) {
    ATTUNE_ASSIGN_OR_RETURN(const std::string unit, TextOf(node.At("unit")));
    format.unit_ns = UnitNs(unit);
    if (format.unit_ns == 0) return node.At("unit").Wrong("it has to be ns, us, ms or s");
  }
  if (node.Has("separator")) {
    ATTUNE_ASSIGN_OR_RETURN(format.separator, CharacterOf(node.At("separator")));
  }
  if (node.Has("assign")) {
    ATTUNE_ASSIGN_OR_RETURN(format.assign, CharacterOf(node.At("assign")));
  }
  if (format.separator == format.assign) {
    return node.Wrong("separator and assign have to be two characters");
  }
  if (!node.Has("only")) return format;
  const Node only = node.At("only");
  if (!only.json.is_object()) return only.Wrong("it has to be an object");
  for (const auto& [key, value] : only.json.items()) {
    const Node at{value, fmt::format("{}/{}", only.pointer, key)};
    ATTUNE_ASSIGN_OR_RETURN(format.only[key], TextOf(at));
  }
  return format;
}

Result<std::vector<std::string>> DevicesOf(const Node& node) {
  ATTUNE_RETURN_IF_ERROR(CheckArray(node, 1, kMostWords));
  std::vector<std::string> devices;
  for (size_t i = 0; i < node.json.size(); ++i) {
    ATTUNE_ASSIGN_OR_RETURN(std::string device, TextOf(node.At(i)));
    const bool is_ordinal =
        !device.empty() && device.find_first_not_of("0123456789") == std::string::npos;
    if (!is_ordinal || std::find(devices.begin(), devices.end(), device) != devices.end()) {
      return node.At(i).Wrong("devices are ordinals such as \"0\", each once");
    }
    devices.push_back(std::move(device));
  }
  return devices;
}

Status ReadSolvers(const Node& node, ToolDescription& tool) {
  ATTUNE_RETURN_IF_ERROR(CheckArray(node, 1, kMaxToolSolvers));
  std::set<std::string> names;
  for (size_t i = 0; i < node.json.size(); ++i) {
    ATTUNE_ASSIGN_OR_RETURN(ToolSolver solver, SolverOf(node.At(i)));
    if (!names.insert(solver.name).second) {
      return node.At(i).Wrong(fmt::format("there are two solvers '{}'", solver.name));
    }
    tool.solvers.push_back(std::move(solver));
  }
  return Status::Ok();
}

Status ReadRuns(const Node& root, ToolDescription& tool) {
  if (root.Has("devices")) {
    ATTUNE_ASSIGN_OR_RETURN(tool.devices, DevicesOf(root.At("devices")));
  }
  ATTUNE_ASSIGN_OR_RETURN(const int64_t timeout_ms,
                          IntegerOf(root.At("timeout_ms"), kMostTimeoutMs));
  tool.timeout_ns = timeout_ms * kNsPerMs;
  if (root.Has("output")) {
    ATTUNE_ASSIGN_OR_RETURN(tool.output, FormatOf(root.At("output")));
  }
  if (!root.Has("success")) return Status::Ok();
  const Node success = root.At("success");
  ATTUNE_RETURN_IF_ERROR(CheckObject(success, {"prints", "never_prints"}));
  if (success.Has("prints")) {
    ATTUNE_ASSIGN_OR_RETURN(tool.prints, TextOf(success.At("prints")));
  }
  if (success.Has("never_prints")) {
    ATTUNE_ASSIGN_OR_RETURN(tool.never_prints, TextOf(success.At("never_prints")));
  }
  return Status::Ok();
}

Result<ToolDescription> ReadDescription(const Json& document) {
  const Node root{document, ""};
  ATTUNE_RETURN_IF_ERROR(CheckObject(root, {"attune_tool", "name", "version", "operator", "devices",
                                            "timeout_ms", "output", "success", "solvers"}));
  if (!root.Has("attune_tool") || document["attune_tool"] != kVersion) {
    return root.Wrong(
        fmt::format("'attune_tool' has to be {}, the version of the format", kVersion));
  }
  for (const char* key : {"name", "version", "operator", "timeout_ms", "solvers"}) {
    if (!root.Has(key)) return root.Wrong(fmt::format("there is no '{}'", key));
  }
  ToolDescription tool;
  ATTUNE_ASSIGN_OR_RETURN(tool.name, WordOf(root.At("name")));
  ATTUNE_ASSIGN_OR_RETURN(tool.version, TextOf(root.At("version")));
  ATTUNE_ASSIGN_OR_RETURN(tool.operator_name, WordOf(root.At("operator")));
  ATTUNE_RETURN_IF_ERROR(ReadRuns(root, tool));
  ATTUNE_RETURN_IF_ERROR(ReadSolvers(root.At("solvers"), tool));
  return tool;
}

}  // namespace

Result<ToolDescription> ParseToolDescription(std::string_view text) {
  if (text.size() > kMaxToolFileBytes) {
    return InvalidArgument(fmt::format("A description has {} bytes at most, and this has {}.",
                                       kMaxToolFileBytes, text.size()));
  }
  ATTUNE_ASSIGN_OR_RETURN(const Json document, ReadOrderedJson(text, {kMostLevels, false}));
  auto tool = ReadDescription(document);
  if (!tool.ok()) return AtPlaceOfPointer(tool.error(), text);
  return tool;
}

}  // namespace attune
