#include "backends/host/conv/tap_conv.h"

#include <algorithm>
#include <utility>

namespace attune::host {
namespace {

constexpr int64_t kLineFloats = 16;

}  // namespace

WorkRange ShareOf(int64_t total, int part, int parts) {
  return {total * part / parts, total * (part + 1) / parts};
}

int64_t PieceCount(int64_t extent, int64_t largest) { return (extent + largest - 1) / largest; }

Piece BalancedPiece(int64_t extent, int64_t largest, int64_t index) {
  const int64_t count = PieceCount(extent, largest);
  const int64_t start = extent * index / count;
  return {start, extent * (index + 1) / count - start};
}

int64_t RoundUpToLine(int64_t floats) {
  return (floats + kLineFloats - 1) / kLineFloats * kLineFloats;
}

TapConv::TapConv(TapPlan plan, const DirectBlocking& blocking, const MicroKernelSet& kernels,
                 ThreadPool& pool)
    : plan_(std::move(plan)),
      blocking_(blocking),
      kernels_(kernels),
      pool_(pool),
      lanes_(static_cast<int64_t>(blocking.vectors) * kernels.vector_floats) {
  for (size_t i = 0; i < plan_.passes.size(); ++i) {
    const TapPass& from = plan_.passes[i];
    Pass pass;
    for (const Tap& tap : from.taps) {
      pass.tap_offsets.push_back((tap.place[0] * plan_.rows + tap.place[1]) * plan_.in_channels *
                                     plan_.columns +
                                 tap.place[2]);
    }
    pass.rows = from.extents[0] * from.extents[1];
    pass.chunks = PieceCount(pass.rows, blocking_.rows);
    pass.weights_offset = packed_weight_floats_;
    passes_.push_back(std::move(pass));
    packed_weight_floats_ += plan_.groups * lane_blocks() * WeightFloats(i);
    const int64_t rows = std::min(blocking_.rows, passes_.back().rows);
    tile_floats_ = std::max(tile_floats_, rows * from.extents[2] * lanes_);
  }
  packed_weight_floats_ = RoundUpToLine(packed_weight_floats_);
  packed_input_floats_ = RoundUpToLine(plan_.packed_floats());
  tile_floats_ = RoundUpToLine(tile_floats_);
}

int64_t TapConv::lane_blocks() const { return PieceCount(plan_.out_channels, lanes_); }

// For one block of lanes of one group.
int64_t TapConv::WeightFloats(size_t pass) const {
  return plan_.in_channels * static_cast<int64_t>(plan_.passes[pass].taps.size()) * lanes_;
}

size_t TapConv::workspace_bytes() const {
  const int64_t images = blocking_.split_images ? blocking_.threads : 1;
  return static_cast<size_t>(packed_weight_floats_ + images * packed_input_floats_ +
                             blocking_.threads * tile_floats_) *
         sizeof(float);
}

void TapConv::Run(const float* in, const float* weights, const float* bias, float* out,
                  float* workspace) {
  const Call call{in, weights, bias, out, workspace, workspace + packed_weight_floats_};
  PackAllWeights(call);
  if (blocking_.split_images) {
    RunImages(call);
  } else {
    RunShared(call);
  }
}

void TapConv::PackAllWeights(const Call& call) {
  const int64_t blocks = lane_blocks();
  const int64_t per_pass = plan_.groups * blocks;
  const int64_t total = per_pass * static_cast<int64_t>(passes_.size());
  pool_.Run(blocking_.threads, [&](int part) {
    const WorkRange share = ShareOf(total, part, blocking_.threads);
    for (int64_t unit = share.begin; unit < share.end; ++unit) {
      const size_t pass = static_cast<size_t>(unit / per_pass);
      const int64_t group = unit % per_pass / blocks;
      const int64_t block = unit % blocks;
      PackWeights(plan_, plan_.passes[pass], {block * lanes_, lanes_, blocking_.channels},
                  call.weights + group * plan_.weight_group_stride,
                  call.packed_weights + passes_[pass].weights_offset +
                      (group * blocks + block) * WeightFloats(pass));
    }
  });
}

void TapConv::PackRows(const Call& call, const Place& place, float* packed, int part, int parts) {
  const float* source = call.in + place.image * plan_.in.outer_stride +
                        place.group * plan_.in_channels * plan_.in.channel_stride;
  const WorkRange share = ShareOf(plan_.depth * plan_.rows, part, parts);
  for (int64_t row = share.begin; row < share.end; ++row) PackRow(plan_, row, source, packed);
}

// Threads never wait for each other inside of the batch.
void TapConv::RunImages(const Call& call) {
  pool_.Run(blocking_.threads, [&](int part) {
    float* const packed = call.private_parts + part * (packed_input_floats_ + tile_floats_);
    const WorkRange share = ShareOf(plan_.batch * plan_.groups, part, blocking_.threads);
    for (int64_t unit = share.begin; unit < share.end; ++unit) {
      const Place place{unit / plan_.groups, unit % plan_.groups, packed,
                        packed + packed_input_floats_};
      PackRows(call, place, packed, 0, 1);
      RunTasks(call, place, 0, 1);
    }
  });
}

void TapConv::RunShared(const Call& call) {
  float* const packed = call.private_parts;
  float* const tiles = packed + packed_input_floats_;
  for (int64_t unit = 0; unit < plan_.batch * plan_.groups; ++unit) {
    const Place place{unit / plan_.groups, unit % plan_.groups, packed, nullptr};
    pool_.Run(blocking_.threads,
              [&](int part) { PackRows(call, place, packed, part, blocking_.threads); });
    pool_.Run(blocking_.threads, [&](int part) {
      Place own = place;
      own.tile = tiles + part * tile_floats_;
      RunTasks(call, own, part, blocking_.threads);
    });
  }
}

void TapConv::RunTasks(const Call& call, const Place& place, int part, int parts) {
  for (size_t pass = 0; pass < passes_.size(); ++pass) {
    const WorkRange share = ShareOf(passes_[pass].chunks * lane_blocks(), part, parts);
    for (int64_t task = share.begin; task < share.end; ++task) RunTask(call, place, pass, task);
  }
}

void TapConv::RunTask(const Call& call, const Place& place, size_t pass, int64_t task) {
  const Pass& at = passes_[pass];
  const int64_t blocks = lane_blocks();
  const int64_t block = blocking_.rows_outermost ? task % blocks : task / at.chunks;
  const int64_t chunk = blocking_.rows_outermost ? task / blocks : task % at.chunks;
  const Piece rows = BalancedPiece(at.rows, blocking_.rows, chunk);
  const float* const weights =
      call.packed_weights + at.weights_offset + (place.group * blocks + block) * WeightFloats(pass);
  SumTile(place, pass, rows, weights);
  StoreTile(call, place, plan_.passes[pass], rows, block * lanes_);
}

void TapConv::SumTile(const Place& place, size_t pass, const Piece& rows, const float* weights) {
  const TapPass& from = plan_.passes[pass];
  const int64_t taps = static_cast<int64_t>(from.taps.size());
  const int64_t columns = from.extents[2];
  const int64_t pieces = PieceCount(columns, blocking_.tile);
  MicroCall micro;
  micro.x_offsets = passes_[pass].tap_offsets.data();
  micro.outer = taps;
  micro.x_step = plan_.columns;
  for (int64_t channel = 0; channel < plan_.in_channels; channel += blocking_.channels) {
    micro.inner = std::min(blocking_.channels, plan_.in_channels - channel);
    micro.accumulate = channel > 0;
    micro.w = weights + channel * taps * lanes_;
    for (int64_t r = 0; r < rows.length; ++r) {
      const int64_t d = (rows.start + r) / from.extents[1] * plan_.step[0];
      const int64_t h = (rows.start + r) % from.extents[1] * plan_.step[1];
      const float* const row =
          place.packed + ((d * plan_.rows + h) * plan_.in_channels + channel) * plan_.columns;
      for (int64_t i = 0; i < pieces; ++i) {
        const Piece piece = BalancedPiece(columns, blocking_.tile, i);
        micro.x = row + piece.start;
        micro.sums = place.tile + (r * columns + piece.start) * lanes_;
        kernels_.kernels[blocking_.vectors - 1][piece.length - 1](micro);
      }
    }
  }
}

void TapConv::StoreTile(const Call& call, const Place& place, const TapPass& pass,
                        const Piece& rows, int64_t first_lane) {
  const int64_t first_channel = place.group * plan_.out_channels + first_lane;
  float* const base = call.out + place.image * plan_.out.outer_stride +
                      first_channel * plan_.out.channel_stride +
                      pass.first[2] * plan_.out.strides[2];
  StoreCall store;
  store.rows = pass.extents[2];
  store.lanes = lanes_;
  store.used_lanes = std::min(lanes_, plan_.out_channels - first_lane);
  store.lane_stride = plan_.out.channel_stride;
  store.row_stride = plan_.out.strides[2] * pass.step[2];
  store.bias = call.bias ? call.bias + first_channel : nullptr;
  for (int64_t r = 0; r < rows.length; ++r) {
    const int64_t d = pass.first[0] + (rows.start + r) / pass.extents[1] * pass.step[0];
    const int64_t h = pass.first[1] + (rows.start + r) % pass.extents[1] * pass.step[1];
    store.from = place.tile + r * pass.extents[2] * lanes_;
    store.to = base + d * plan_.out.strides[0] + h * plan_.out.strides[1];
    kernels_.store(store);
  }
}

}  // namespace attune::host
