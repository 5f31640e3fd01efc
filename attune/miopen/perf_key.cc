#include <fmt/format.h>

#include "attune/miopen/conv_keys.h"
#include "attune/miopen/key_text.h"

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
