#include "backends/opencl/kernel_file_mutation.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "attune/base/file.h"
#include "backends/opencl/kernel_plan.h"

namespace attune::opencl {
namespace {

using Json = nlohmann::json;

constexpr int kConfigsPerProblem = 8;

// Every place of a document.
void CollectPlaces(const Json& json, const Json::json_pointer& here,
                   std::vector<Json::json_pointer>& places) {
  if (!here.empty()) places.push_back(here);
  if (json.is_object()) {
    for (const auto& [key, value] : json.items()) CollectPlaces(value, here / key, places);
  } else if (json.is_array()) {
    for (size_t i = 0; i < json.size(); ++i) CollectPlaces(json[i], here / i, places);
  }
}

std::string CorruptedText(std::string text, Random& random) {
  const size_t place = random.Below(text.size() + 1);
  switch (random.Below(4)) {
    case 0:
      return text.erase(std::min(place, text.size() - 1), 1);
    case 1:
      return text.insert(place, 1, "+*/()<>=!&|?:%'x9 .-"[random.Below(20)]);
    case 2:
      text[std::min(place, text.size() - 1)] = static_cast<char>(' ' + random.Below(95));
      return text;
    default:
      return text.substr(0, place);
  }
}

void Erase(Json& parent, const std::string& key) {
  if (parent.is_object()) {
    parent.erase(key);
  } else {
    parent.erase(std::stoul(key));
  }
}

void Double(Json& parent, const std::string& key, const Json& field) {
  if (parent.is_object()) {
    parent[key + "x"] = field;
  } else {
    parent.push_back(field);
  }
}

void CorruptValue(Json& field, Random& random) {
  if (field.is_string()) {
    field = CorruptedText(field.get<std::string>(), random);
  } else if (field.is_number_integer()) {
    field =
        static_cast<int64_t>(random.Next() >> random.Below(64)) * (random.Below(2) == 0 ? 1 : -1);
  } else if (field.is_array() && !field.empty()) {
    std::reverse(field.begin(), field.end());
  } else {
    field = nullptr;
  }
}

// A copy of `file` with one field changed.
Json Corrupted(const Json& file, const Json::json_pointer& place, Random& random) {
  Json changed = file;
  Json& parent = changed[place.parent_pointer()];
  switch (random.Below(6)) {
    case 0:
      Erase(parent, place.back());
      break;
    case 1:
      Double(parent, place.back(), Json(changed[place]));
      break;
    case 2:
      changed[place] = Json::array(
          {nullptr, true, -1, 1e300, "", "m", Json::object(), Json::array()})[random.Below(8)];
      break;
    default:
      CorruptValue(changed[place], random);
      break;
  }
  return changed;
}

KernelUse UseOf(const KernelFile& file, const Problem& problem, const Config& config) {
  const auto source = MakeSource(file, problem, config);
  const auto plan = MakePlan(file, problem, config);
  return {problem, config,
          fmt::format("{}|{}", source.ok() ? *source : "no source",
                      plan.ok() ? Text(*plan) : "no plan")};
}

}  // namespace

std::string KernelMutation::ChangedText() const {
  return changed.dump(-1, ' ', false, Json::error_handler_t::replace);
}

KernelMutation RandomMutation(Random& random) {
  const char* names[] = {"gemm_tiled.json", "conv_im2col_gemm.json", "conv_direct_filter.json"};
  KernelMutation mutation;
  mutation.file_name = names[random.Below(3)];
  mutation.original =
      Json::parse(*ReadFile(std::filesystem::path(ATTUNE_SOURCE_KERNEL_DIR) / mutation.file_name));
  std::vector<Json::json_pointer> places;
  CollectPlaces(mutation.original, Json::json_pointer(), places);
  mutation.place = places[random.Below(places.size())];
  mutation.changed = Corrupted(mutation.original, mutation.place, random);
  return mutation;
}

std::vector<Problem> MutationProblems() {
  Conv conv;
  conv.batch = 2;
  conv.in_channels = conv.out_channels = 6;
  conv.in = {1, 9, 8};
  conv.filter = {1, 3, 2};
  conv.pad = {0, 1, 1};
  conv.stride = {1, 2, 1};
  Gemm batched = PackedGemm(65, 33, 17);
  batched.batch_count = 2;
  batched.bias = Bias::kPerRow;
  return {PackedGemm(70, 30, 20), Normalized(batched), conv};
}

bool KernelEffect::SameAs(const KernelEffect& other) const {
  return identity == other.identity && summary == other.summary &&
         std::equal(uses.begin(), uses.end(), other.uses.begin(), other.uses.end(),
                    [](const KernelUse& a, const KernelUse& b) {
                      return a.config == b.config && a.text == b.text;
                    });
}

KernelEffect EffectOf(const KernelFile& file) {
  const Config limits = {{"compute_units", int64_t{2}},
                         {"max_work_group_size", int64_t{4096}},
                         {"local_memory_bytes", int64_t{1} << 20}};
  KernelEffect effect;
  effect.identity =
      fmt::format("{}@{} {}", file.name, file.version, fmt::join(file.source_names, ","));
  Random random(3);
  for (const Problem& problem : MutationProblems()) {
    if (!CheckApplies(file, problem, limits).ok()) {
      effect.summary += "|not applicable";
      continue;
    }
    const auto space = MakeSpace(file, problem, limits);
    effect.summary += space.ok() ? fmt::format("|space {}", space->size()) : "|no space";
    for (int i = 0; space.ok() && i < kConfigsPerProblem; ++i) {
      effect.uses.push_back(UseOf(file, problem, space->At(i == 0 ? 0 : space->Sample(random))));
    }
  }
  return effect;
}

std::optional<KernelUse> FirstDifference(const KernelFile& changed, const KernelFile& intact) {
  for (const KernelUse& use : EffectOf(changed).uses) {
    if (UseOf(intact, use.problem, use.config).text != use.text) return use;
  }
  return std::nullopt;
}

}  // namespace attune::opencl
