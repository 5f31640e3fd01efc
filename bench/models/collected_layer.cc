#include "bench/models/collected_layer.h"

#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace attune::bench {
namespace {

using Json = nlohmann::ordered_json;

Json JsonOf(const CollectedCandidate& candidate) {
  Json launches = Json::array();
  for (const KernelLaunch& launch : candidate.launches) {
    launches.push_back({launch.signature, launch.blocks, launch.threads, launch.registers,
                        launch.shared_bytes, launch.blocks_per_multiprocessor});
  }
  return {{"candidate", candidate.candidate},
          {"ms", candidate.time_ms},
          {"kernels", candidate.kernels},
          {"launches", std::move(launches)}};
}

CollectedCandidate CandidateFrom(const Json& json) {
  CollectedCandidate candidate;
  candidate.candidate = json.at("candidate").get<std::string>();
  candidate.time_ms = json.at("ms").get<double>();
  candidate.kernels = json.at("kernels").get<int64_t>();
  for (const Json& launch : json.at("launches")) {
    candidate.launches.push_back({launch.at(0).get<std::string>(), launch.at(1).get<int64_t>(),
                                  launch.at(2).get<int64_t>(), launch.at(3).get<int64_t>(),
                                  launch.at(4).get<int64_t>(), launch.at(5).get<int64_t>()});
  }
  return candidate;
}

}  // namespace

std::string LineOf(const CollectedLayer& layer) {
  Json json = {{"device", layer.device},      {"multiprocessors", layer.multiprocessors},
               {"library", layer.library},    {"problem", Text(layer.problem)},
               {"candidates", Json::array()}, {"heuristics", Json::object()}};
  for (const CollectedCandidate& candidate : layer.candidates) {
    json["candidates"].push_back(JsonOf(candidate));
  }
  for (const auto& [name, answer] : layer.heuristics) json["heuristics"][name] = JsonOf(answer);
  return json.dump();
}

Result<CollectedLayer> ParseCollectedLayer(std::string_view line) {
  CollectedLayer layer;
  std::string problem;
  try {
    const Json json = Json::parse(line);
    layer.device = json.at("device").get<std::string>();
    layer.multiprocessors = json.at("multiprocessors").get<int64_t>();
    layer.library = json.at("library").get<std::string>();
    problem = json.at("problem").get<std::string>();
    for (const Json& one : json.at("candidates")) layer.candidates.push_back(CandidateFrom(one));
    for (const auto& [name, answer] : json.at("heuristics").items()) {
      layer.heuristics[name] = CandidateFrom(answer);
    }
  } catch (const nlohmann::json::exception& error) {
    return InvalidArgument(fmt::format("It is no collected layer: {}", error.what()));
  }
  ATTUNE_ASSIGN_OR_RETURN(layer.problem, ParseProblem(problem));
  for (const CollectedCandidate& candidate : layer.candidates) {
    if (std::isfinite(candidate.time_ms) && candidate.time_ms >= 0) continue;
    return InvalidArgument(
        fmt::format("'{}' takes {} ms.", candidate.candidate, candidate.time_ms));
  }
  return layer;
}

}  // namespace attune::bench
