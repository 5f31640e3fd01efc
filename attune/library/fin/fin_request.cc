#include "attune/library/fin/fin_request.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "attune/base/base64.h"
#include "attune/base/text.h"
#include "attune/ops/conv/conv.h"

namespace attune::fin {
namespace {

using Json = nlohmann::ordered_json;

// fin throws at every other one.
constexpr std::string_view kArchs[] = {"gfx900", "gfx906", "gfx908", "gfx1030",
                                       "gfx90a", "gfx940", "gfx942"};

Result<std::string> CommandOf(DataType type) {
  switch (type) {
    case DataType::kF32:
      return std::string("conv");
    case DataType::kF16:
      return std::string("convfp16");
    case DataType::kBf16:
      return std::string("convbfp16");
    default:
      return Unsupported(fmt::format("fin has no convolution of {}.", Name(type)));
  }
}

// As MIOpen's driver counts them.
int NumberOf(ConvDirection direction) {
  if (direction == ConvDirection::kForward) return 1;
  return direction == ConvDirection::kBackwardData ? 2 : 4;
}

const char* LetterOf(ConvDirection direction) {
  if (direction == ConvDirection::kForward) return "F";
  return direction == ConvDirection::kBackwardData ? "B" : "W";
}

std::string Upper(std::string_view name) {
  std::string upper(name);
  std::transform(upper.begin(), upper.end(), upper.begin(), [](char c) {
    return static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  });
  return upper;
}

// With features as MITuna guesses them: the compile steps need them.
std::string TargetIdOf(const std::string& arch) {
  if (arch == "gfx1030") return arch;
  return arch == "gfx900" ? arch + ":xnack-" : arch + ":sram-ecc+:xnack-";
}

Status CheckConv(const Conv& conv) {
  ATTUNE_RETURN_IF_ERROR(Validate(conv));
  if (conv.bias) return Unsupported("fin convolves without a bias.");
  if (conv.output_pad != Spatial{0, 0, 0}) {
    return Unsupported("fin ignores padding of the output, and so would answer for another one.");
  }
  return Status::Ok();
}

void PutSpatial(const char* prefix, const Spatial& spatial, int64_t depth_in_2d, int rank,
                Json& config) {
  config[fmt::format("{}_d", prefix)] = rank == 2 ? depth_in_2d : spatial[0];
  config[fmt::format("{}_h", prefix)] = spatial[1];
  config[fmt::format("{}_w", prefix)] = spatial[2];
}

Result<Json> ConfigOf(const Conv& conv) {
  ATTUNE_RETURN_IF_ERROR(CheckConv(conv));
  Json config;
  ATTUNE_ASSIGN_OR_RETURN(config["cmd"], CommandOf(conv.type));
  config["mode"] = conv.mode == ConvMode::kTransposed ? "trans" : "conv";
  config["pad_mode"] = "default";
  config["direction"] = LetterOf(conv.direction);
  config["batchsize"] = conv.batch;
  config["spatial_dim"] = conv.spatial_rank;
  config["group_count"] = conv.groups;
  config["in_channels"] = conv.in_channels;
  config["out_channels"] = conv.out_channels;
  // In 2-D the depth of strides and dilations is 0, that of image and filter 1.
  PutSpatial("in", conv.in, 1, conv.spatial_rank, config);
  PutSpatial("fil", conv.filter, 1, conv.spatial_rank, config);
  PutSpatial("pad", conv.pad, 0, conv.spatial_rank, config);
  PutSpatial("conv_stride", conv.stride, 0, conv.spatial_rank, config);
  PutSpatial("dilation", conv.dilation, 0, conv.spatial_rank, config);
  PutSpatial("trans_output_pad", {0, 0, 0}, 0, conv.spatial_rank, config);
  config["in_layout"] = Upper(Name(conv.in_layout));
  config["wei_layout"] = Upper(Name(conv.weights_layout));
  config["out_layout"] = Upper(Name(conv.out_layout));
  return config;
}

Json ToJson(const KernelObject& kernel) {
  return {{"kernel_file", kernel.file},
          {"comp_options", kernel.options},
          {"blob", ToBase64(kernel.blob)},
          {"md5_sum", kernel.hash},
          {"uncompressed_size", kernel.code_bytes}};
}

Json CompiledJson(const Question& question) {
  const char* const flag = question.step == Step::kFindEval ? "find_compiled" : "perf_compiled";
  Json list = Json::array();
  for (const auto& [solver, kernels] : question.compiled) {
    Json objects = Json::array();
    for (const KernelObject& kernel : kernels) objects.push_back(ToJson(kernel));
    list.push_back({{"solver_name", solver}, {flag, true}, {"kernel_objects", std::move(objects)}});
  }
  return list;
}

Result<std::vector<KernelObject>> KernelsOf(Json list) {
  // As an outcome has them, so that they are checked as these are.
  Json outcome = {{"solver_name", "kept"}, {"find_compiled", true}};
  outcome["kernel_objects"] = std::move(list);
  const Json response = Json::array({Json::object(), {{"miopen_find_compile_result", {outcome}}}});
  ATTUNE_ASSIGN_OR_RETURN(Answer answer, ParseResponse(response.dump(), Step::kFindCompile));
  Outcome& kept = answer.outcomes.front();
  if (!kept.succeeded()) return DataLoss(kept.failure);
  return std::move(kept.kernels);
}

Result<UserDatabases> DatabasesOf(const Json& object) {
  UserDatabases databases;
  if (!object.is_object()) return DataLoss("Kept databases are no object.");
  for (const auto& [path, value] : object.items()) {
    auto content = value.is_string() ? FromBase64(value.get<std::string>()) : std::nullopt;
    const std::filesystem::path inside = std::filesystem::path(path).lexically_normal();
    if (!content.has_value() || inside.empty() || inside.is_absolute() || *inside.begin() == "..") {
      return DataLoss(fmt::format("The kept database '{}' is none.", Excerpt(path)));
    }
    databases.emplace(path, std::move(*content));
  }
  return databases;
}

}  // namespace

std::string TextOf(const KeptBuild& build) {
  Json kernels = Json::array();
  for (const KernelObject& kernel : build.kernels) kernels.push_back(ToJson(kernel));
  if (build.databases.empty()) return kernels.dump();
  Json databases = Json::object();
  for (const auto& [path, content] : build.databases) databases[path] = ToBase64(content);
  const Json kept = {{"kernels", std::move(kernels)}, {"databases", std::move(databases)}};
  return kept.dump();
}

Result<KeptBuild> KeptBuildOf(std::string_view text) {
  Json kept = Json::parse(text, nullptr, false);
  if (kept.is_discarded()) return DataLoss("Kept kernels are no JSON.");
  KeptBuild build;
  if (kept.is_object()) {
    ATTUNE_ASSIGN_OR_RETURN(build.databases, DatabasesOf(kept["databases"]));
    kept = Json(std::move(kept["kernels"]));
  }
  ATTUNE_ASSIGN_OR_RETURN(build.kernels, KernelsOf(std::move(kept)));
  return build;
}

Result<std::string> RequestFor(const Question& question) {
  if (question.step == Step::kSolvers) {
    return Json::array({{{"steps", {Name(question.step)}}}}).dump();
  }
  if (std::find(std::begin(kArchs), std::end(kArchs), question.arch) == std::end(kArchs)) {
    return Unsupported(
        fmt::format("fin knows no GPU '{}'; it knows {}.", question.arch, fmt::join(kArchs, ", ")));
  }
  Json command;
  command["steps"] = {Name(question.step)};
  if (NeedsDevice(question.step)) {
    if (question.compiled.empty()) return InvalidArgument("There is nothing to be evaluated.");
    command["steps"] = {"alloc_buf", "fill_buf", Name(question.step)};
    command[std::string(Name(CompileOf(question.step))) + "_result"] = CompiledJson(question);
  }
  command["arch"] =
      question.step == Step::kApplicability ? question.arch : TargetIdOf(question.arch);
  command["num_cu"] = question.compute_units;
  command["config_tuna_id"] = 1;
  command["direction"] = NumberOf(question.conv.direction);
  command["dynamic_only"] = false;
  if (!question.solvers.empty()) command["solvers"] = question.solvers;
  ATTUNE_ASSIGN_OR_RETURN(command["config"], ConfigOf(question.conv));
  return Json::array({std::move(command)}).dump();
}

}  // namespace attune::fin
