// KernelPlan <-> one line of JSON. It travels inside a BuildRecipe, so it is canonical: equal
// plans, equal texts.
#include <nlohmann/json.hpp>

#include "attune/kernel/kernel_plan.h"

namespace attune::kernel {
namespace {

using Json = nlohmann::json;
using Kind = KernelArgument::Kind;

Json JsonOf(const PlannedArgument& argument) {
  Json value;
  if (const auto* integer = std::get_if<int64_t>(&argument.value)) value = *integer;
  if (const auto* real = std::get_if<double>(&argument.value)) value = *real;
  if (const auto* scalar = std::get_if<CallScalar>(&argument.value)) {
    value = *scalar == CallScalar::kAlpha ? "alpha" : "beta";
  }
  return Json::array({static_cast<int>(argument.kind), argument.name, value});
}

PlannedArgument ArgumentOf(const Json& json) {
  PlannedArgument argument;
  argument.kind = static_cast<Kind>(json.at(0).get<int>());
  argument.name = json.at(1).get<std::string>();
  const Json& value = json.at(2);
  if (value.is_string()) {
    argument.value = value.get<std::string>() == "alpha" ? CallScalar::kAlpha : CallScalar::kBeta;
  } else if (value.is_number_float()) {
    argument.value = value.get<double>();
  } else {
    argument.value = value.get<int64_t>();
  }
  return argument;
}

PlannedLaunch LaunchOf(const Json& json) {
  PlannedLaunch launch;
  launch.function = json.at("function").get<std::string>();
  launch.local = json.at("local").get<std::vector<int64_t>>();
  launch.groups = json.at("groups").get<std::vector<int64_t>>();
  launch.shared_bytes = json.value("shared_bytes", int64_t{0});
  launch.is_cooperative = json.value("cooperative", false);
  launch.cluster = json.value("cluster", std::vector<int64_t>{});
  for (const Json& argument : json.at("arguments"))
    launch.arguments.push_back(ArgumentOf(argument));
  return launch;
}

}  // namespace

std::string Text(const KernelPlan& plan) {
  Json launches = Json::array();
  for (const PlannedLaunch& launch : plan.launches) {
    Json arguments = Json::array();
    for (const PlannedArgument& argument : launch.arguments) arguments.push_back(JsonOf(argument));
    Json line = {{"function", launch.function},
                 {"local", launch.local},
                 {"groups", launch.groups},
                 {"arguments", arguments}};
    if (launch.shared_bytes != 0) line["shared_bytes"] = launch.shared_bytes;
    if (launch.is_cooperative) line["cooperative"] = true;
    if (!launch.cluster.empty()) line["cluster"] = launch.cluster;
    launches.push_back(std::move(line));
  }
  return Json{{"workspace_bytes", plan.workspace_bytes},
              {"operand_bytes", plan.operand_bytes},
              {"element_bytes", plan.element_bytes},
              {"launches", launches}}
      .dump();
}

Result<KernelPlan> ParseKernelPlan(std::string_view text) {
  try {
    const Json json = Json::parse(text);
    KernelPlan plan;
    plan.workspace_bytes = json.at("workspace_bytes").get<int64_t>();
    plan.operand_bytes = json.at("operand_bytes").get<std::map<std::string, int64_t>>();
    plan.element_bytes = json.at("element_bytes").get<std::map<std::string, int64_t>>();
    for (const Json& launch : json.at("launches")) plan.launches.push_back(LaunchOf(launch));
    return plan;
  } catch (const Json::exception& exception) {
    return InvalidArgument(std::string("This is not the plan of a kernel: ") + exception.what());
  }
}

}  // namespace attune::kernel
