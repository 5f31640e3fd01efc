#include "extensions/models/samples/conv_features.h"

#include <algorithm>
#include <cmath>

#include "attune/ops/conv/conv.h"
#include "attune/problem/problem.h"

namespace attune {
namespace {

double Product(const Spatial& extents) {
  return static_cast<double>(extents[0]) * static_cast<double>(extents[1]) *
         static_cast<double>(extents[2]);
}

// The inputs from a convolution that both kinds of rows use.
struct ConvWork {
  double channels = 0;   // Per group.
  double reduction = 0;  // q: products for each output value.
  double outputs = 0;    // Positions times batch, in any channel.
  double in_bytes = 0;
  double weight_bytes = 0;
  double out_bytes = 0;
  double im2col_bytes = 0;
  double flops = 0;

  double bytes() const { return in_bytes + weight_bytes + out_bytes; }
};

ConvWork WorkOf(const Conv& conv) {
  const auto size = static_cast<double>(SizeBytes(conv.type));
  const auto batch = static_cast<double>(conv.batch);
  const double filter = Product(conv.filter);
  ConvWork work;
  work.channels = static_cast<double>(conv.in_channels) / static_cast<double>(conv.groups);
  work.reduction = work.channels * filter;
  work.outputs = batch * Product(OutputExtent(conv));
  const auto out_channels = static_cast<double>(conv.out_channels);
  work.in_bytes = batch * static_cast<double>(conv.in_channels) * Product(conv.in) * size;
  work.weight_bytes = out_channels * work.reduction * size;
  work.out_bytes = work.outputs * out_channels * size;
  work.im2col_bytes = work.outputs * static_cast<double>(conv.in_channels) * filter * size;
  work.flops = Flops(Problem(conv));
  return work;
}

std::vector<double> OperationValues(const Conv& conv, const ConvWork& work,
                                    const LaunchProfile& profile) {
  const auto number = [](int64_t x) { return static_cast<double>(x); };
  const int64_t launches = std::max(profile.launches, static_cast<int64_t>(profile.kernels.size()));
  return {1,
          work.flops,
          work.bytes(),
          work.in_bytes,
          work.weight_bytes,
          work.out_bytes,
          work.im2col_bytes,
          number(launches),
          number(conv.batch),
          number(conv.in_channels),
          number(conv.out_channels),
          number(conv.in[1]),
          number(conv.in[2]),
          number(conv.filter[1]),
          number(conv.filter[2]),
          number(conv.stride[1]),
          number(conv.pad[1]),
          Product(OutputExtent(conv)),
          work.outputs,
          work.reduction,
          work.flops / work.bytes()};
}

std::vector<double> KernelValues(const Conv& conv, const ConvWork& work, const KernelLaunch& launch,
                                 int64_t multiprocessors) {
  const double part = Waves(launch, multiprocessors);
  const double waves = std::ceil(part);
  const double sharing = static_cast<double>(launch.blocks_per_multiprocessor);
  // The blocks of a multiprocessor in the last wave, if that is the only one.
  const double busy =
      std::min(sharing, std::ceil(static_cast<double>(launch.blocks) /
                                  static_cast<double>(std::max<int64_t>(1, multiprocessors))));
  const double c = work.channels;
  const double q = work.reduction;
  const TileExtents tile = TileOf(launch.signature);
  const auto blocks = static_cast<double>(launch.blocks);
  const auto area = static_cast<double>(tile.m * tile.n);
  const double padded = 2 * blocks * area * q;
  // Grids of persistent kernels and of split reductions do not give the number of tiles.
  const double tiles =
      area == 0
          ? 0
          : std::ceil(work.outputs / static_cast<double>(tile.m)) *
                std::ceil(static_cast<double>(conv.out_channels) / static_cast<double>(tile.n));
  const double tile_waves =
      std::ceil(tiles / static_cast<double>(std::max<int64_t>(1, multiprocessors)));
  return {1,
          waves,
          waves * c,
          waves * q,
          part,
          part * c,
          part * q,
          busy,
          busy * c,
          busy * q,
          work.in_bytes,
          work.weight_bytes,
          work.out_bytes,
          work.im2col_bytes,
          waves * sharing * area * q,
          busy * area * q,
          tile_waves * area * q,
          blocks,
          part / std::max(waves, 1.0),
          sharing,
          static_cast<double>(launch.threads),
          static_cast<double>(launch.registers),
          static_cast<double>(launch.shared_bytes),
          static_cast<double>(tile.m),
          static_cast<double>(tile.n),
          static_cast<double>(tile.k),
          padded,
          padded / work.flops,
          q,
          static_cast<double>(conv.out_channels)};
}

}  // namespace

FeatureSet ConvFeatures() {
  FeatureSet features;
  features.name = "conv_2";
  features.operation = {"one",          "flops",        "bytes",         "in_bytes", "weight_bytes",
                        "out_bytes",    "im2col_bytes", "launches",      "batch",    "in_channels",
                        "out_channels", "height",       "width",         "filter_h", "filter_w",
                        "stride",       "pad",          "out_positions", "outputs",  "reduction",
                        "intensity"};
  features.linear_operation = 8;
  features.kernel = {"one",         "waves",        "waves_c",      "waves_q",      "part",
                     "part_c",      "part_q",       "busy",         "busy_c",       "busy_q",
                     "in_bytes",    "weight_bytes", "out_bytes",    "im2col_bytes", "waves_tile_q",
                     "busy_tile_q", "tile_waves_q", "blocks",       "last_wave",    "sharing",
                     "threads",     "registers",    "shared_bytes", "tile_m",       "tile_n",
                     "tile_k",      "padded_flops", "padding",      "reduction",    "out_channels"};
  features.linear_kernel = 17;
  return features;
}

FeatureRow ConvRow(const Conv& conv, const std::string& algorithm, const LaunchProfile& profile) {
  const ConvWork work = WorkOf(conv);
  FeatureRow row{algorithm, OperationValues(conv, work, profile), {}};
  for (const KernelLaunch& launch : profile.kernels) {
    row.kernels.push_back(
        {launch.signature, KernelValues(conv, work, launch, profile.multiprocessors)});
  }
  return row;
}

}  // namespace attune
