#include "attune/model/tiled_launches.h"

#include <string_view>
#include <variant>

#include "attune/model/seer_variant.h"
#include "attune/ops/conv/conv.h"

namespace attune {
namespace {

constexpr std::string_view kSolver = "cuda.cudnn-conv";

bool Has(const Config& config, std::string_view name, std::string_view value) {
  const auto found = config.find(std::string(name));
  if (found == config.end()) return false;
  const auto* const text = std::get_if<std::string>(&found->second);
  return text != nullptr && *text == value;
}

bool IsOfVariants(const Candidate& candidate) {
  return candidate.solver.name == kSolver &&
         Has(candidate.config, "algorithm", "implicit_precomp_gemm") &&
         Has(candidate.config, "math", "fma");
}

// SEER's layers: square images and filters in f32, channels first.
std::optional<seer::Layer> LayerOf(const Problem& problem) {
  const Conv* const conv = problem.As<Conv>();
  const bool is_one = conv != nullptr && conv->direction == ConvDirection::kForward &&
                      conv->mode == ConvMode::kConvolution && conv->spatial_rank == 2 &&
                      conv->groups == 1 && conv->type == DataType::kF32 &&
                      !IsChannelsLast(conv->in_layout) && !IsChannelsLast(conv->out_layout) &&
                      conv->in[1] == conv->in[2] && conv->filter[1] == conv->filter[2] &&
                      conv->stride[1] == conv->stride[2] && conv->pad[1] == conv->pad[2] &&
                      conv->dilation == Spatial{1, 1, 1};
  if (!is_one) return std::nullopt;
  return seer::Layer{
      conv->batch,     conv->in_channels, conv->in[1], conv->out_channels, OutputExtent(*conv)[1],
      conv->filter[1], conv->stride[1],   conv->pad[1]};
}

}  // namespace

std::optional<LaunchProfile> TiledLaunches::Find(const Problem& problem,
                                                 const Candidate& candidate) const {
  if (!IsOfVariants(candidate)) return std::nullopt;
  const std::optional<seer::Layer> layer = LayerOf(problem);
  if (!layer.has_value()) return std::nullopt;
  const seer::Variant& variant = seer::PrecompVariant(layer->k);
  KernelLaunch launch;
  launch.signature = variant.name;
  launch.blocks = static_cast<int64_t>(seer::BlocksOf(variant, *layer, seer::Rules::kFixed));
  LaunchProfile profile;
  profile.multiprocessors = multiprocessors_;
  profile.kernels.push_back(std::move(launch));
  return profile;
}

}  // namespace attune
