#include <fmt/format.h>

#include "attune/formats/miopen/conv_keys.h"
#include "attune/formats/miopen/key_text.h"

namespace attune::miopen {
namespace {

// MIOpen's order of axes in a perf-db: height, width, depth.
Spatial ReadAxes(KeyReader& reader, std::string_view field) {
  Spatial extents = {};
  extents[1] = reader.Number('x', field, "height");
  extents[2] = reader.Number('x', field, "width");
  extents[0] = reader.Number('x', field, "depth");
  return extents;
}

std::string AxesText(const Spatial& extents) {
  return fmt::format("{}x{}x{}", extents[1], extents[2], extents[0]);
}

}  // namespace

std::string Text(const PerfKey& key) {
  return fmt::format("{}x{}x{}x{}x{}x{}x{}x{}x{}x{}x{}x{}x{}x{}", key.spatial_rank, key.in_channels,
                     AxesText(key.in), AxesText(key.filter), key.out_channels, key.batch,
                     AxesText(key.pad), AxesText(key.stride), AxesText(key.dilation), key.bias,
                     key.groups, Name(key.layout), TextOf(key.types), Letter(key.direction));
}

Parsed<PerfKey> ReadPerfKey(std::string_view text) {
  PerfKey key;
  KeyReader reader(text);
  key.spatial_rank = reader.Number('x', "spatial_dim");
  if (key.spatial_rank != 2 && key.spatial_rank != 3) {
    reader.Fail(fmt::format("Field 'spatial_dim' is {}, not 2 or 3.", key.spatial_rank));
  }
  key.in_channels = reader.Number('x', "in_channels");
  key.in = ReadAxes(reader, "in");
  key.filter = ReadAxes(reader, "filter");
  key.out_channels = reader.Number('x', "out_channels");
  key.batch = reader.Number('x', "batchsize");
  key.pad = ReadAxes(reader, "pad");
  key.stride = ReadAxes(reader, "stride");
  key.dilation = ReadAxes(reader, "dilation");
  key.bias = reader.Number('x', "bias");
  key.groups = reader.Number('x', "group_count");
  const std::string_view layout = reader.Token('x', "layout");
  const auto found_layout = LayoutOf(layout);
  if (!found_layout) reader.Fail(fmt::format("Layout {} is unknown.", Quoted(layout)));
  const std::string_view types = reader.Token('x', "data_type");
  const auto found_types = TypesOf(types);
  if (!found_types) reader.Fail(fmt::format("Type {} is unknown.", Quoted(types)));
  const std::string_view direction = reader.Token('x', "direction");
  const auto found_direction = DirectionOf(direction);
  if (!found_direction) {
    reader.Fail(fmt::format("Direction {} is none of F, B and W.", Quoted(direction)));
  }
  if (!reader.at_end()) reader.FailAtEnd("Nothing is known behind the direction.");
  if (reader.failed()) return tl::unexpected(reader.error());
  key.layout = *found_layout;
  key.types = *found_types;
  key.direction = *found_direction;
  return key;
}

std::string WhyImpossible(const PerfKey& key) {
  const bool is_flat = key.spatial_rank == 2;
  if (is_flat && (key.in[0] != 1 || key.filter[0] != 1 || key.pad[0] != 0 || key.stride[0] != 0 ||
                  key.dilation[0] != 0)) {
    return "It is of two dimensions and has a depth.";
  }
  const bool has_depth_in_layout = Name(key.layout).find('D') != std::string_view::npos;
  if (key.layout != TensorLayout::kUnknown && has_depth_in_layout == is_flat) {
    return fmt::format("Layout {} is not of {} dimensions.", Name(key.layout), key.spatial_rank);
  }
  const struct {
    std::string_view what;
    const Spatial& axes;
    int64_t least;
  } checks[] = {{"extent of the input", key.in, 1},
                {"extent of the filter", key.filter, 1},
                {"pad", key.pad, 0},
                {"stride", key.stride, 1},
                {"dilation", key.dilation, 1}};
  for (const auto& [what, axes, least] : checks) {
    for (size_t axis = is_flat ? 1 : 0; axis < axes.size(); ++axis) {
      if (axes[axis] < least) return fmt::format("{} is no {}.", axes[axis], what);
    }
  }
  if (key.batch < 1 || key.in_channels < 1 || key.out_channels < 1) {
    return fmt::format("{} pictures of {} and {} channels are none.", key.batch, key.in_channels,
                       key.out_channels);
  }
  if (key.groups < 1 || key.in_channels % key.groups != 0 || key.out_channels % key.groups != 0) {
    return fmt::format("{} groups do not divide {} and {} channels.", key.groups, key.in_channels,
                       key.out_channels);
  }
  return "";
}

PerfKey PerfKeyOf(const FindKey& key) {
  PerfKey perf{key.spatial_rank, key.in_channels, key.in,     key.filter,   key.out_channels,
               key.batch,        key.pad,         key.stride, key.dilation, key.bias,
               key.groups,       key.layouts[0],  key.types,  key.direction};
  if (key.spatial_rank == 2) {
    perf.stride[0] = 0;
    perf.dilation[0] = 0;
  }
  return perf;
}

}  // namespace attune::miopen
