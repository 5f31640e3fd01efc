#include "backends/host/conv/weight_gradient.h"

#include <algorithm>

namespace attune::host {
namespace {

template <class Body>
void ForEachElement(const Spatial& extents, const Body& body) {
  for (int64_t d = 0; d < extents[0]; ++d) {
    for (int64_t h = 0; h < extents[1]; ++h) {
      for (int64_t w = 0; w < extents[2]; ++w) body(d, h, w);
    }
  }
}

}  // namespace

WeightGradient::WeightGradient(const ConvForm& form, const DirectBlocking& blocking,
                               const MicroKernelSet& kernels, ThreadPool& pool)
    : form_(form),
      blocking_(blocking),
      kernels_(kernels),
      pool_(pool),
      lanes_(static_cast<int64_t>(blocking.vectors) * kernels.vector_floats),
      lane_blocks_(PieceCount(form.out_channels, lanes_)) {
  for (size_t dim = 0; dim < 3; ++dim) {
    padded_[dim] = (form_.y.extents[dim] - 1) * form_.stride[dim] +
                   (form_.w.extents[dim] - 1) * form_.dilation[dim] + 1;
  }
  const int64_t blocks = PieceCount(form_.in_channels, blocking_.tile);
  for (int64_t i = 0; i < blocks; ++i) MakeInBlock(i);
  x_floats_ = RoundUpToLine(x_floats_);
  dy_floats_ = RoundUpToLine(lane_blocks_ * form_.y.Volume() * lanes_);
  sums_floats_ = RoundUpToLine(form_.groups * lane_blocks_ * SumsPerLaneBlock());
}

// Lays out the packed x of one block as [depth][row][column][channel].
void WeightGradient::MakeInBlock(int64_t index) {
  const Piece piece = BalancedPiece(form_.in_channels, blocking_.tile, index);
  InBlock block;
  block.first = piece.start;
  block.channels = piece.length;
  block.packed_offset = x_floats_;
  block.sums_offset = piece.start * form_.taps() * lanes_;
  const int64_t row_floats = padded_[2] * block.channels;
  for (int64_t d = 0; d < form_.y.extents[0]; ++d) {
    for (int64_t h = 0; h < form_.y.extents[1]; ++h) {
      block.row_offsets.push_back((d * form_.stride[0] * padded_[1] + h * form_.stride[1]) *
                                  row_floats);
    }
  }
  ForEachElement(form_.w.extents, [&](int64_t d, int64_t h, int64_t w) {
    block.tap_offsets.push_back((d * form_.dilation[0] * padded_[1] + h * form_.dilation[1]) *
                                    row_floats +
                                w * form_.dilation[2] * block.channels);
  });
  x_floats_ += padded_[0] * padded_[1] * row_floats;
  blocks_.push_back(std::move(block));
}

size_t WeightGradient::workspace_bytes() const {
  const int64_t copies = blocking_.split_images ? blocking_.threads : 1;
  return static_cast<size_t>(copies * (x_floats_ + dy_floats_ + sums_floats_)) * sizeof(float);
}

WeightGradient::Buffers WeightGradient::BuffersAt(float* workspace, int copy) const {
  float* const x = workspace + copy * (x_floats_ + dy_floats_ + sums_floats_);
  return {x, x + x_floats_, x + x_floats_ + dy_floats_};
}

float* WeightGradient::SumsOf(const Buffers& buffers, int64_t group, int64_t block) const {
  return buffers.sums + (group * lane_blocks_ + block) * SumsPerLaneBlock();
}

void WeightGradient::PackInput(const float* x, const InBlock& block, float* packed) const {
  const TensorForm& from = form_.x;
  float* to = packed + block.packed_offset;
  ForEachElement({padded_[0], padded_[1], 1}, [&](int64_t depth, int64_t row, int64_t) {
    const int64_t d = depth - form_.pad[0];
    const int64_t h = row - form_.pad[1];
    const bool inside = d >= 0 && d < from.extents[0] && h >= 0 && h < from.extents[1];
    const int64_t begin = inside ? std::min(form_.pad[2], padded_[2]) : padded_[2];
    const int64_t end =
        inside ? std::clamp(from.extents[2] + form_.pad[2], begin, padded_[2]) : padded_[2];
    std::fill(to, to + begin * block.channels, 0.0f);
    for (int64_t c = 0; inside && c < block.channels; ++c) {
      const float* source =
          x + (block.first + c) * from.channel_stride + d * from.strides[0] + h * from.strides[1];
      for (int64_t w = begin; w < end; ++w) {
        to[w * block.channels + c] = source[(w - form_.pad[2]) * from.strides[2]];
      }
    }
    std::fill(to + end * block.channels, to + padded_[2] * block.channels, 0.0f);
    to += padded_[2] * block.channels;
  });
}

// [depth][row][column][lane], zero in the lanes past the last channel.
void WeightGradient::PackOutput(const float* dy, int64_t block, float* packed) const {
  const TensorForm& from = form_.y;
  const int64_t first = block * lanes_;
  const int64_t used = std::min(lanes_, form_.out_channels - first);
  float* to = packed + block * from.Volume() * lanes_;
  if (used < lanes_) std::fill(to, to + from.Volume() * lanes_, 0.0f);
  ForEachElement({from.extents[0], from.extents[1], 1}, [&](int64_t d, int64_t h, int64_t) {
    for (int64_t lane = 0; lane < used; ++lane) {
      const float* source =
          dy + (first + lane) * from.channel_stride + d * from.strides[0] + h * from.strides[1];
      for (int64_t w = 0; w < from.extents[2]; ++w) {
        to[w * lanes_ + lane] = source[w * from.strides[2]];
      }
    }
    to += from.extents[2] * lanes_;
  });
}

void WeightGradient::Pack(const float* x, const float* dy, const Buffers& to, int64_t unit,
                          int part, int parts) {
  const int64_t image = unit / form_.groups;
  const int64_t group = unit % form_.groups;
  const float* const from_x =
      x + image * form_.x.outer_stride + group * form_.in_channels * form_.x.channel_stride;
  const float* const from_dy =
      dy + image * form_.y.outer_stride + group * form_.out_channels * form_.y.channel_stride;
  const int64_t in_blocks = static_cast<int64_t>(blocks_.size());
  const WorkRange share = ShareOf(in_blocks + lane_blocks_, part, parts);
  for (int64_t i = share.begin; i < share.end; ++i) {
    if (i < in_blocks) {
      PackInput(from_x, blocks_[static_cast<size_t>(i)], to.x);
    } else {
      PackOutput(from_dy, i - in_blocks, to.dy);
    }
  }
}

void WeightGradient::Sum(const Buffers& buffers, int64_t unit, bool accumulate, int part,
                         int parts) {
  const int64_t group = unit % form_.groups;
  const int64_t in_blocks = static_cast<int64_t>(blocks_.size());
  const WorkRange share = ShareOf(in_blocks * lane_blocks_, part, parts);
  for (int64_t i = share.begin; i < share.end; ++i) {
    SumBlocks(buffers, i / in_blocks, blocks_[static_cast<size_t>(i % in_blocks)], group,
              accumulate);
  }
}

// All taps of one block of input channels by one block of lanes.
void WeightGradient::SumBlocks(const Buffers& buffers, int64_t lane_block, const InBlock& in,
                               int64_t group, bool accumulate) {
  const int64_t rows = static_cast<int64_t>(in.row_offsets.size());
  const int64_t columns = form_.y.extents[2];
  const int64_t taps = form_.taps();
  const MicroKernel kernel = kernels_.kernels[blocking_.vectors - 1][in.channels - 1];
  float* const sums = SumsOf(buffers, group, lane_block) + in.sums_offset;
  const float* const dy = buffers.dy + lane_block * rows * columns * lanes_;
  const int64_t chunks = PieceCount(rows, blocking_.rows);
  MicroCall micro;
  micro.inner = columns;
  micro.x_step = form_.stride[2] * in.channels;
  for (int64_t i = 0; i < chunks * taps; ++i) {
    const int64_t tap = blocking_.rows_outermost ? i % taps : i / chunks;
    const int64_t chunk = blocking_.rows_outermost ? i / taps : i % chunks;
    const Piece piece = BalancedPiece(rows, blocking_.rows, chunk);
    micro.outer = piece.length;
    micro.x_offsets = in.row_offsets.data() + piece.start;
    micro.x = buffers.x + in.packed_offset + in.tap_offsets[static_cast<size_t>(tap)];
    micro.w = dy + piece.start * columns * lanes_;
    micro.sums = sums + tap * in.channels * lanes_;
    micro.accumulate = accumulate || chunk > 0;
    kernel(micro);
  }
}

// Every thread sums its own images into sums of its own.
void WeightGradient::RunImages(const float* x, const float* dy, float* workspace) {
  pool_.Run(blocking_.threads, [&](int part) {
    const Buffers buffers = BuffersAt(workspace, part);
    const WorkRange share = ShareOf(form_.batch, part, blocking_.threads);
    if (share.begin == share.end) {
      std::fill(buffers.sums, buffers.sums + sums_floats_, 0.0f);
    }
    for (int64_t unit = share.begin * form_.groups; unit < share.end * form_.groups; ++unit) {
      Pack(x, dy, buffers, unit, 0, 1);
      Sum(buffers, unit, unit / form_.groups > share.begin, 0, 1);
    }
  });
}

void WeightGradient::RunShared(const float* x, const float* dy, float* workspace) {
  const Buffers buffers = BuffersAt(workspace, 0);
  for (int64_t unit = 0; unit < form_.batch * form_.groups; ++unit) {
    pool_.Run(blocking_.threads,
              [&](int part) { Pack(x, dy, buffers, unit, part, blocking_.threads); });
    pool_.Run(blocking_.threads,
              [&](int part) { Sum(buffers, unit, unit >= form_.groups, part, blocking_.threads); });
  }
}

// From [lane block][input block][tap][channel][lane] to the caller's layout, adding up the threads'
// copies.
void WeightGradient::Store(const float* const* sums, int copies, float* dw, int part,
                           int parts) const {
  const int64_t units = form_.groups * lane_blocks_;
  const int64_t in_blocks = static_cast<int64_t>(blocks_.size());
  const WorkRange share = ShareOf(units * in_blocks, part, parts);
  for (int64_t i = share.begin; i < share.end; ++i) {
    const int64_t unit = i / in_blocks;
    const InBlock& in = blocks_[static_cast<size_t>(i % in_blocks)];
    const int64_t first = unit % lane_blocks_ * lanes_;
    const int64_t used = std::min(lanes_, form_.out_channels - first);
    const int64_t base = unit * SumsPerLaneBlock() + in.sums_offset;
    for (int64_t lane = 0; lane < used; ++lane) {
      const int64_t k = unit / lane_blocks_ * form_.out_channels + first + lane;
      for (int64_t c = 0; c < in.channels; ++c) {
        float* const to = dw + k * form_.w.outer_stride + (in.first + c) * form_.w.channel_stride;
        int64_t tap = 0;
        ForEachElement(form_.w.extents, [&](int64_t d, int64_t h, int64_t w) {
          const int64_t at = base + (tap++ * in.channels + c) * lanes_ + lane;
          float value = sums[0][at];
          for (int copy = 1; copy < copies; ++copy) value += sums[copy][at];
          to[d * form_.w.strides[0] + h * form_.w.strides[1] + w * form_.w.strides[2]] = value;
        });
      }
    }
  }
}

void WeightGradient::Run(const float* x, const float* dy, float* dw, float* workspace) {
  const int copies = blocking_.split_images ? blocking_.threads : 1;
  std::vector<const float*> sums;
  for (int copy = 0; copy < copies; ++copy) sums.push_back(BuffersAt(workspace, copy).sums);
  if (blocking_.split_images) {
    RunImages(x, dy, workspace);
  } else {
    RunShared(x, dy, workspace);
  }
  pool_.Run(blocking_.threads,
            [&](int part) { Store(sums.data(), copies, dw, part, blocking_.threads); });
}

}  // namespace attune::host
