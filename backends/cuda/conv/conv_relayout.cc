#include "backends/cuda/conv/conv_relayout.h"

#include "attune/ops/conv/conv_operands.h"
#include "attune/problem/problem.h"
#include "backends/cuda/layout/copy_limit.h"

namespace attune::cuda {
namespace {

constexpr int64_t kWordBytes = 16;

// A tensor as matrices of channels and pixels: images, or the filters of the output channels.
struct ChannelMatrices {
  int64_t matrices = 1;
  int64_t channels = 1;
  int64_t pixels = 1;
  bool is_channels_last = false;

  int64_t elements() const { return matrices * channels * pixels; }
  // Channels-first and channels-last are one order in memory.
  bool is_both() const { return channels == 1 || pixels == 1; }
};

int64_t Volume(const Spatial& extents) { return extents[0] * extents[1] * extents[2]; }

// In the order of Operands(conv).
std::array<ChannelMatrices, 3> MatricesOf(const Conv& conv) {
  const ConvRoles roles = RolesOf(conv);
  std::array<ChannelMatrices, 3> tensors;
  tensors[roles.x] = {conv.batch, conv.in_channels, Volume(conv.in),
                      IsChannelsLast(conv.in_layout)};
  tensors[roles.y] = {conv.batch, conv.out_channels, Volume(OutputExtent(conv)),
                      IsChannelsLast(conv.out_layout)};
  tensors[roles.w] = {conv.out_channels, conv.in_channels / conv.groups, Volume(conv.filter),
                      IsChannelsLast(conv.weights_layout)};
  return tensors;
}

bool IsSameMemory(const ChannelMatrices& a, const ChannelMatrices& b) {
  return a.matrices == b.matrices && a.channels == b.channels && a.pixels == b.pixels &&
         (a.is_channels_last == b.is_channels_last || a.is_both());
}

Relayout Between(const ChannelMatrices& from, const ChannelMatrices& to) {
  Relayout task = {};
  task.matrices = from.matrices;
  task.to_matrices = to.matrices;
  task.from_matrix = from.channels * from.pixels;
  task.to_matrix = to.channels * to.pixels;
  task.is_transposed = from.is_channels_last != to.is_channels_last;
  task.to_line = to.is_channels_last ? to.channels : to.pixels;
  if (from.is_channels_last) {
    task.rows = from.pixels;
    task.columns = task.from_row = from.channels;
    task.to_rows = to.pixels;
    task.to_columns = to.channels;
  } else {
    task.rows = from.channels;
    task.columns = task.from_row = from.pixels;
    task.to_rows = to.channels;
    task.to_columns = to.pixels;
  }
  return task;
}

// The divisor of the number of channels of tensors that tensor cores read.
int64_t ChannelStep(const Conv& conv) {
  const bool is_narrow = conv.type == DataType::kF16 || conv.type == DataType::kBf16;
  const bool is_tensor_core =
      is_narrow || (conv.type == DataType::kF32 && conv.math != MathMode::kStrict);
  return is_tensor_core ? kWordBytes / static_cast<int64_t>(SizeBytes(conv.type)) : 1;
}

int64_t RoundUp(int64_t count, int64_t step) { return (count + step - 1) / step * step; }

Layout LayoutOf(const Conv& conv, bool is_channels_last) {
  if (conv.spatial_rank == 3) return is_channels_last ? Layout::kNdhwc : Layout::kNcdhw;
  return is_channels_last ? Layout::kNhwc : Layout::kNchw;
}

// REQUIRES: `name` is a word of RelayoutNames.
Conv InLayout(const Conv& conv, std::string_view name) {
  Conv inner = conv;
  inner.in_layout = inner.weights_layout = inner.out_layout = LayoutOf(conv, name != "first");
  if (name == "padded") {
    const int64_t step = ChannelStep(conv);
    inner.in_channels = RoundUp(conv.in_channels, step);
    inner.out_channels = RoundUp(conv.out_channels, step);
  }
  return inner;
}

std::array<bool, 3> CopiesBetween(const Conv& conv, const Conv& inner) {
  const std::array<ChannelMatrices, 3> given = MatricesOf(conv);
  const std::array<ChannelMatrices, 3> used = MatricesOf(inner);
  std::array<bool, 3> copies = {};
  for (size_t i = 0; i < copies.size(); ++i) copies[i] = !IsSameMemory(given[i], used[i]);
  return copies;
}

}  // namespace

size_t ConvRelayout::CopiesBytes() const {
  size_t sum_bytes = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (is_copied[i]) sum_bytes += ScratchBytes(bytes[i]);
  }
  return sum_bytes;
}

std::vector<std::string> RelayoutNames(const Conv& conv) {
  std::vector<std::string> names;
  const int64_t step = ChannelStep(conv);
  if (conv.groups == 1 && (conv.in_channels % step != 0 || conv.out_channels % step != 0)) {
    names.emplace_back("padded");
  }
  const bool is_last = IsChannelsLast(conv.in_layout) && IsChannelsLast(conv.weights_layout) &&
                       IsChannelsLast(conv.out_layout);
  names.emplace_back(is_last ? "first" : "last");
  std::erase_if(names, [&](const std::string& name) {
    return CopiesBetween(conv, InLayout(conv, name)) == std::array<bool, 3>{};
  });
  return names;
}

Result<ConvRelayout> LayOutAnew(const Conv& conv, std::string_view name) {
  ConvRelayout relayout{InLayout(conv, name)};
  relayout.is_copied = CopiesBetween(conv, relayout.inner);
  const std::array<ChannelMatrices, 3> given = MatricesOf(conv);
  const std::array<ChannelMatrices, 3> used = MatricesOf(relayout.inner);
  for (size_t i = 0; i < given.size(); ++i) {
    relayout.bytes[i] = static_cast<size_t>(used[i].elements()) * SizeBytes(conv.type);
    relayout.into[i] = Between(given[i], used[i]);
    relayout.back[i] = Between(used[i], given[i]);
  }
  const auto& copied = relayout.is_copied;
  if (copied[0] && copied[1] && copied[2]) relayout.inner.alignment_bytes = 256;
  ATTUNE_RETURN_IF_ERROR(Validate(relayout.inner));
  return relayout;
}

Result<std::vector<std::string>> PossibleRelayouts(const Conv& conv, int64_t limit_bytes) {
  const std::vector<std::string> names = RelayoutNames(conv);
  if (names.empty()) {
    return Unsupported("With one channel or one pixel, channels-first is channels-last.");
  }
  const auto copies_bytes_of = [&](const std::string& name) -> Result<size_t> {
    ATTUNE_ASSIGN_OR_RETURN(const ConvRelayout relayout, LayOutAnew(conv, name));
    return relayout.CopiesBytes();
  };
  return WaysWithinLimit(names, copies_bytes_of, limit_bytes,
                         {.what = "the tensors in layout",
                          .instead = "cuDNN's other solvers take the tensors as they are."});
}

}  // namespace attune::cuda
