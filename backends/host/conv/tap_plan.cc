#include "backends/host/conv/tap_plan.h"

#include <algorithm>
#include <cstring>

namespace attune::host {
namespace {

// Floats of a source block that stay in the first-level cache while they are turned round.
constexpr int64_t kTurnFloats = 64;

TapPlan PlanOf(const ConvForm& form) {
  TapPlan plan;
  plan.batch = form.batch;
  plan.groups = form.groups;
  plan.weight_group_stride = form.out_channels * form.w.outer_stride;
  return plan;
}

// Where each packed row comes from: position - shift for positions that some tap of some output
// reads.
std::vector<int64_t> Sources(int64_t count, int64_t shift, int64_t extent,
                             const std::vector<bool>& used) {
  std::vector<int64_t> sources(static_cast<size_t>(count), kUnusedSource);
  for (int64_t i = 0; i < count; ++i) {
    if (!used[static_cast<size_t>(i)]) continue;
    const int64_t source = i - shift;
    sources[static_cast<size_t>(i)] = source >= 0 && source < extent ? source : kZeroSource;
  }
  return sources;
}

// Packed rows of one dimension of the forward pass.
std::vector<int64_t> ForwardSources(const ConvForm& form, size_t dim) {
  const int64_t outs = form.y.extents[dim];
  const int64_t taps = form.w.extents[dim];
  const int64_t count = (outs - 1) * form.stride[dim] + (taps - 1) * form.dilation[dim] + 1;
  std::vector<bool> used(static_cast<size_t>(count), false);
  for (int64_t out = 0; out < outs; ++out) {
    for (int64_t tap = 0; tap < taps; ++tap) {
      used[static_cast<size_t>(out * form.stride[dim] + tap * form.dilation[dim])] = true;
    }
  }
  return Sources(count, form.pad[dim], form.x.extents[dim], used);
}

// One segment for each residue of the columns that a tap needs. Returns where each tap starts.
std::vector<int64_t> MakeSegments(const ConvForm& form, TapPlan& plan) {
  const int64_t stride = form.stride[2];
  std::vector<int64_t> index(static_cast<size_t>(stride), -1);
  for (int64_t tap = 0; tap < form.w.extents[2]; ++tap) {
    const int64_t at = tap * form.dilation[2];
    int64_t& segment = index[static_cast<size_t>(at % stride)];
    if (segment < 0) {
      segment = static_cast<int64_t>(plan.segments.size());
      plan.segments.push_back({0, 0, at % stride - form.pad[2], stride});
    }
    Segment& grown = plan.segments[static_cast<size_t>(segment)];
    grown.length = std::max(grown.length, at / stride + form.y.extents[2]);
  }
  plan.columns = 0;
  for (Segment& segment : plan.segments) {
    segment.start = plan.columns;
    plan.columns += segment.length;
  }
  std::vector<int64_t> places;
  for (int64_t tap = 0; tap < form.w.extents[2]; ++tap) {
    const int64_t at = tap * form.dilation[2];
    const int64_t segment = index[static_cast<size_t>(at % stride)];
    places.push_back(plan.segments[static_cast<size_t>(segment)].start + at / stride);
  }
  return places;
}

template <class Body>
void ForEachFilterElement(const ConvForm& form, const Body& body) {
  for (int64_t d = 0; d < form.w.extents[0]; ++d) {
    for (int64_t h = 0; h < form.w.extents[1]; ++h) {
      for (int64_t w = 0; w < form.w.extents[2]; ++w) body(Spatial{d, h, w});
    }
  }
}

int64_t WeightOffset(const ConvForm& form, const Spatial& at) {
  return at[0] * form.w.strides[0] + at[1] * form.w.strides[1] + at[2] * form.w.strides[2];
}

// Backward data, one dimension: the filter element `tap` contributes to outputs of `residue` if it
// falls on a multiple of the stride, and then reads position j + shift for the j-th of them.
struct Shift {
  bool exists = false;
  int64_t shift = 0;
};

Shift ShiftOf(const ConvForm& form, size_t dim, int64_t residue, int64_t tap) {
  const int64_t distance = residue + form.pad[dim] - tap * form.dilation[dim];
  if (distance % form.stride[dim] != 0) return {};
  return {true, distance / form.stride[dim]};
}

// The lowest and one past the highest position that any output reads, in one dimension.
struct Reach {
  int64_t low = 0, high = 1;
};

Reach ReachOf(const ConvForm& form, size_t dim) {
  Reach reach{INT64_MAX, INT64_MIN};
  for (int64_t residue = 0; residue < std::min(form.stride[dim], form.x.extents[dim]); ++residue) {
    const int64_t count = (form.x.extents[dim] - residue - 1) / form.stride[dim] + 1;
    for (int64_t tap = 0; tap < form.w.extents[dim]; ++tap) {
      const Shift shift = ShiftOf(form, dim, residue, tap);
      if (!shift.exists) continue;
      reach.low = std::min(reach.low, shift.shift);
      reach.high = std::max(reach.high, shift.shift + count);
    }
  }
  return reach.low == INT64_MAX ? Reach{} : reach;
}

TapPass BackwardPass(const ConvForm& form, const Spatial& residue, const Spatial& low) {
  TapPass pass;
  pass.first = residue;
  pass.step = form.stride;
  for (size_t dim = 0; dim < 3; ++dim) {
    pass.extents[dim] = (form.x.extents[dim] - residue[dim] - 1) / form.stride[dim] + 1;
  }
  ForEachFilterElement(form, [&](const Spatial& at) {
    Tap tap;
    for (size_t dim = 0; dim < 3; ++dim) {
      const Shift shift = ShiftOf(form, dim, residue[dim], at[dim]);
      if (!shift.exists) return;
      tap.place[dim] = shift.shift - low[dim];
    }
    tap.weight_offset = WeightOffset(form, at);
    pass.taps.push_back(tap);
  });
  return pass;
}

void MakeBackwardPasses(const ConvForm& form, const Spatial& low, TapPlan& plan) {
  Spatial residues;
  for (size_t dim = 0; dim < 3; ++dim) {
    residues[dim] = std::min(form.stride[dim], form.x.extents[dim]);
  }
  for (int64_t d = 0; d < residues[0]; ++d) {
    for (int64_t h = 0; h < residues[1]; ++h) {
      for (int64_t w = 0; w < residues[2]; ++w) {
        plan.passes.push_back(BackwardPass(form, {d, h, w}, low));
      }
    }
  }
}

// Fills one segment of one channel; `from` is the source row.
void PackSegment(const TapPlan& plan, const Segment& segment, const float* from, float* to) {
  const int64_t extent = plan.in.extents[2];
  const int64_t step = segment.source_step;
  const int64_t begin = segment.source_first >= 0
                            ? 0
                            : std::min(segment.length, (-segment.source_first + step - 1) / step);
  const int64_t end =
      segment.source_first >= extent
          ? begin
          : std::clamp((extent - 1 - segment.source_first) / step + 1, begin, segment.length);
  std::fill(to, to + begin, 0.0f);
  std::fill(to + end, to + segment.length, 0.0f);
  const int64_t stride = plan.in.strides[2] * step;
  const float* source = from + segment.source_first * plan.in.strides[2] + begin * stride;
  if (stride == 1) {
    std::memcpy(to + begin, source, static_cast<size_t>(end - begin) * sizeof(float));
    return;
  }
  for (int64_t i = begin; i < end; ++i, source += stride) to[i] = *source;
}

}  // namespace

TapPlan ForwardPlan(const ConvForm& form) {
  TapPlan plan = PlanOf(form);
  plan.in_channels = form.in_channels;
  plan.out_channels = form.out_channels;
  plan.in = form.x;
  plan.out = form.y;
  plan.weight_in_stride = form.w.channel_stride;
  plan.weight_out_stride = form.w.outer_stride;
  plan.source_depth = ForwardSources(form, 0);
  plan.source_row = ForwardSources(form, 1);
  plan.depth = static_cast<int64_t>(plan.source_depth.size());
  plan.rows = static_cast<int64_t>(plan.source_row.size());
  plan.step = {form.stride[0], form.stride[1], 1};
  const std::vector<int64_t> columns = MakeSegments(form, plan);
  TapPass pass;
  pass.extents = form.y.extents;
  ForEachFilterElement(form, [&](const Spatial& at) {
    pass.taps.push_back(
        {{at[0] * form.dilation[0], at[1] * form.dilation[1], columns[static_cast<size_t>(at[2])]},
         WeightOffset(form, at)});
  });
  plan.passes.push_back(std::move(pass));
  return plan;
}

TapPlan BackwardDataPlan(const ConvForm& form) {
  TapPlan plan = PlanOf(form);
  plan.in_channels = form.out_channels;
  plan.out_channels = form.in_channels;
  plan.in = form.y;
  plan.out = form.x;
  plan.weight_in_stride = form.w.outer_stride;
  plan.weight_out_stride = form.w.channel_stride;
  const Reach reach[3] = {ReachOf(form, 0), ReachOf(form, 1), ReachOf(form, 2)};
  const auto sources = [&](size_t dim) {
    const int64_t count = reach[dim].high - reach[dim].low;
    return Sources(count, -reach[dim].low, form.y.extents[dim],
                   std::vector<bool>(static_cast<size_t>(count), true));
  };
  plan.source_depth = sources(0);
  plan.source_row = sources(1);
  plan.depth = static_cast<int64_t>(plan.source_depth.size());
  plan.rows = static_cast<int64_t>(plan.source_row.size());
  plan.columns = reach[2].high - reach[2].low;
  plan.segments = {{0, plan.columns, reach[2].low, 1}};
  MakeBackwardPasses(form, {reach[0].low, reach[1].low, reach[2].low}, plan);
  return plan;
}

void PackRow(const TapPlan& plan, int64_t row, const float* source, float* packed) {
  const int64_t depth = plan.source_depth[static_cast<size_t>(row / plan.rows)];
  const int64_t height = plan.source_row[static_cast<size_t>(row % plan.rows)];
  if (depth == kUnusedSource || height == kUnusedSource) return;
  float* to = packed + row * plan.in_channels * plan.columns;
  if (depth == kZeroSource || height == kZeroSource) {
    std::fill(to, to + plan.in_channels * plan.columns, 0.0f);
    return;
  }
  const float* from = source + depth * plan.in.strides[0] + height * plan.in.strides[1];
  for (int64_t channel = 0; channel < plan.in_channels; ++channel) {
    for (const Segment& segment : plan.segments) {
      PackSegment(plan, segment, from + channel * plan.in.channel_stride, to + segment.start);
    }
    to += plan.columns;
  }
}

// The source is read along its filters, which is how it lies in memory, in pieces small enough that
// the rows of lanes they are turned into stay in the first-level cache.
void PackWeights(const TapPlan& plan, const TapPass& pass, const WeightBlock& block,
                 const float* source, float* packed) {
  const int64_t taps = static_cast<int64_t>(pass.taps.size());
  const int64_t lanes = std::min(block.lanes, plan.out_channels - block.first_out);
  const int64_t piece = std::max<int64_t>(1, kTurnFloats / std::max<int64_t>(taps, 1));
  for (int64_t first = 0; first < plan.in_channels; first += block.channel_block) {
    const int64_t channels = std::min(block.channel_block, plan.in_channels - first);
    float* const to = packed + first * taps * block.lanes;
    if (lanes < block.lanes) std::fill(to, to + channels * taps * block.lanes, 0.0f);
    for (int64_t begin = 0; begin < channels; begin += piece) {
      const int64_t end = std::min(channels, begin + piece);
      for (int64_t lane = 0; lane < lanes; ++lane) {
        const float* from = source + (block.first_out + lane) * plan.weight_out_stride +
                            first * plan.weight_in_stride;
        for (int64_t channel = begin; channel < end; ++channel) {
          for (int64_t tap = 0; tap < taps; ++tap) {
            to[(tap * channels + channel) * block.lanes + lane] =
                from[channel * plan.weight_in_stride +
                     pass.taps[static_cast<size_t>(tap)].weight_offset];
          }
        }
      }
    }
  }
}

}  // namespace attune::host
