#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "attune/formats/miopen/conv_keys.h"
#include "attune/formats/miopen/key_text.h"

namespace attune::miopen {
namespace {

constexpr std::string_view kAxes[] = {"depth", "height", "width"};

// "3x3", or "1x3x3" in 3-D.
Spatial ReadExtents(KeyReader& reader, int rank, std::string_view field, Spatial extents) {
  for (size_t axis = 3 - static_cast<size_t>(rank); axis < extents.size(); ++axis) {
    const char separator = axis + 1 < extents.size() ? 'x' : '-';
    extents[axis] = reader.Number(separator, field, kAxes[axis]);
  }
  return extents;
}

// "14-14", or "1-14-14" in 3-D.
Spatial ReadImage(KeyReader& reader, int rank, std::string_view field) {
  Spatial extents = {1, 0, 0};
  for (size_t axis = 3 - static_cast<size_t>(rank); axis < extents.size(); ++axis) {
    extents[axis] = reader.Number('-', field, kAxes[axis]);
  }
  return extents;
}

void AppendExtents(const Spatial& extents, int rank, char separator, std::string& text) {
  if (rank == 3) fmt::format_to(std::back_inserter(text), "{}{}", extents[0], separator);
  fmt::format_to(std::back_inserter(text), "{}{}{}-", extents[1], separator, extents[2]);
}

// The filter is the fourth token in 2-D and the fifth in 3-D; no other of the first five has an x.
int RankOf(std::string_view text) {
  size_t at = 0;
  for (int token = 0; token < 3 && at != text.npos; ++token) {
    at = text.find('-', at);
    if (at != text.npos) ++at;
  }
  if (at == text.npos) return 2;
  const std::string_view fourth = text.substr(at, text.find('-', at) - at);
  return fourth.find('x') == fourth.npos ? 3 : 2;
}

constexpr TensorLayout PlainLayout(int rank) {
  return rank == 3 ? TensorLayout::kNcdhw : TensorLayout::kNchw;
}

bool IsPlain(const FindKey& key) {
  return std::all_of(key.layouts.begin(), key.layouts.end(), [&key](TensorLayout layout) {
    return layout == PlainLayout(key.spatial_rank);
  });
}

// One name, or three if the text after the first is a layout too.
void ReadLayouts(KeyReader& reader, std::string_view next, FindKey& key) {
  const std::string_view first = reader.Token('-', "layout");
  const auto layout = LayoutOf(first);
  if (!layout.has_value()) return reader.Fail(fmt::format("Layout {} is unknown.", Quoted(first)));
  key.layouts.fill(*layout);
  next.remove_prefix(std::min(next.size(), first.size() + 1));
  if (!LayoutOf(next.substr(0, next.find('-'))).has_value()) return;
  for (size_t i = 1; i < key.layouts.size(); ++i) {
    const std::string_view name = reader.Token('-', "layout");
    const auto found = LayoutOf(name);
    if (!found.has_value()) return reader.Fail(fmt::format("Layout {} is unknown.", Quoted(name)));
    key.layouts[i] = *found;
  }
}

// "_g32", "_ciFP16" and so on, each once and in this order.
void ReadOptions(KeyReader& reader, FindKey& key) {
  constexpr std::string_view kCasts[] = {"ci", "cw", "co"};
  size_t next_cast = 0;
  bool may_be_groups = true;
  while (!reader.at_end() && !reader.failed()) {
    const std::string_view option = reader.Token('_', "option");
    if (may_be_groups && option.starts_with('g')) {
      may_be_groups = false;
      const char* const end = option.data() + option.size();
      const auto [stop, error] = std::from_chars(option.data() + 1, end, key.groups);
      if (error == std::errc() && stop == end && key.groups >= 1) continue;
    }
    may_be_groups = false;
    const auto* const cast = std::find(kCasts + next_cast, std::end(kCasts), option.substr(0, 2));
    const auto type = cast == std::end(kCasts) ? std::nullopt : TypeOf(option.substr(2));
    if (!type.has_value()) {
      return reader.Fail(
          fmt::format("Option {} is none of g, ci, cw and co, each at most once and in this order.",
                      Quoted(option)));
    }
    next_cast = static_cast<size_t>(cast - kCasts) + 1;
    key.casts[next_cast - 1] = type;
  }
}

void ReadEnd(KeyReader& reader, FindKey& key) {
  const std::string_view types = reader.Token('-', "type");
  const auto found = TypesOf(types);
  if (!found.has_value()) reader.Fail(fmt::format("Type {} is unknown.", Quoted(types)));
  key.types = found.value_or(ElementTypes{});
  const std::string_view direction = reader.Token('_', "direction");
  const auto which = DirectionOf(direction);
  if (!which.has_value()) {
    reader.Fail(fmt::format("Direction {} is none of F, B and W.", Quoted(direction)));
  }
  key.direction = which.value_or(Direction::kForward);
  ReadOptions(reader, key);
}

// `text` from the first layout on. Tokens before it have fixed places; those behind it, from about
// the sixth-last '-', are found by their content.
std::string_view FromLayouts(std::string_view text, int rank) {
  const int tokens_before = rank == 3 ? 14 : 12;
  for (int i = 0; i < tokens_before; ++i) {
    const size_t end = text.find('-');
    if (end == text.npos) return {};
    text.remove_prefix(end + 1);
  }
  return text;
}

}  // namespace

std::string Text(const FindKey& key) {
  const int rank = key.spatial_rank;
  std::string text = fmt::format("{}-", key.in_channels);
  AppendExtents(key.in, rank, '-', text);
  AppendExtents(key.filter, rank, 'x', text);
  fmt::format_to(std::back_inserter(text), "{}-", key.out_channels);
  AppendExtents(key.out, rank, '-', text);
  fmt::format_to(std::back_inserter(text), "{}-", key.batch);
  AppendExtents(key.pad, rank, 'x', text);
  AppendExtents(key.stride, rank, 'x', text);
  AppendExtents(key.dilation, rank, 'x', text);
  fmt::format_to(std::back_inserter(text), "{}-{}", key.bias, Name(key.layouts[0]));
  if (!IsPlain(key)) {
    fmt::format_to(std::back_inserter(text), "-{}-{}", Name(key.layouts[1]), Name(key.layouts[2]));
  }
  fmt::format_to(std::back_inserter(text), "-{}-{}", TextOf(key.types), Letter(key.direction));
  if (key.groups != 1) fmt::format_to(std::back_inserter(text), "_g{}", key.groups);
  constexpr std::string_view kCasts[] = {"_ci", "_cw", "_co"};
  for (size_t i = 0; i < key.casts.size(); ++i) {
    if (!key.casts[i].has_value()) continue;
    text += kCasts[i];
    text += Name(*key.casts[i]);
  }
  return text;
}

Parsed<FindKey> ReadFindKey(std::string_view text) {
  FindKey key;
  key.spatial_rank = RankOf(text);
  const int rank = key.spatial_rank;
  KeyReader reader(text);
  key.in_channels = reader.Number('-', "in channels");
  key.in = ReadImage(reader, rank, "in");
  key.filter = ReadExtents(reader, rank, "filter", {1, 0, 0});
  key.out_channels = reader.Number('-', "out channels");
  key.out = ReadImage(reader, rank, "out");
  key.batch = reader.Number('-', "batch");
  key.pad = ReadExtents(reader, rank, "pad", {0, 0, 0});
  key.stride = ReadExtents(reader, rank, "stride", {1, 0, 0});
  key.dilation = ReadExtents(reader, rank, "dilation", {1, 0, 0});
  key.bias = reader.Number('-', "bias");
  ReadLayouts(reader, FromLayouts(text, rank), key);
  ReadEnd(reader, key);
  if (reader.failed()) return tl::unexpected(reader.error());
  return key;
}

}  // namespace attune::miopen
