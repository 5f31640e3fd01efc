// Backward weights with the same micro kernel: outer products of packed input channels and packed
// output channels, summed over the outputs of every image.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "backends/host/conv/conv_form.h"
#include "backends/host/conv/micro_kernel.h"
#include "backends/host/conv/tap_conv.h"
#include "backends/host/threads/thread_pool.h"

namespace attune::host {

// Not thread-safe.
class WeightGradient {
 public:
  // `kernels` and `pool` must outlive it. blocking.tile counts input channels, blocking.channels is
  // not used, blocking.rows_outermost orders rows before filters.
  WeightGradient(const ConvForm& form, const DirectBlocking& blocking,
                 const MicroKernelSet& kernels, ThreadPool& pool);

  size_t workspace_bytes() const;
  // `workspace` is aligned to 64 bytes.
  void Run(const float* x, const float* dy, float* dw, float* workspace);

 private:
  // One block of input channels: its channels and its place in the packed x and in the sums.
  struct InBlock {
    int64_t first = 0, channels = 0;
    int64_t packed_offset = 0;         // In the packed x of one image and group.
    int64_t sums_offset = 0;           // In the sums of one block of lanes.
    std::vector<int64_t> row_offsets;  // For each output row, tap 0.
    std::vector<int64_t> tap_offsets;
  };
  // Work memory of one thread, or of all together.
  struct Buffers {
    float* x = nullptr;
    float* dy = nullptr;
    float* sums = nullptr;
  };

  void MakeInBlock(int64_t index);
  int64_t SumsPerLaneBlock() const { return form_.in_channels * form_.taps() * lanes_; }
  float* SumsOf(const Buffers& buffers, int64_t group, int64_t block) const;
  void Pack(const float* x, const float* dy, const Buffers& to, int64_t unit, int part, int parts);
  void PackInput(const float* x, const InBlock& block, float* packed) const;
  void PackOutput(const float* dy, int64_t block, float* packed) const;
  void Sum(const Buffers& buffers, int64_t unit, bool accumulate, int part, int parts);
  void SumBlocks(const Buffers& buffers, int64_t lane_block, const InBlock& in, int64_t group,
                 bool accumulate);
  void RunImages(const float* x, const float* dy, float* workspace);
  void RunShared(const float* x, const float* dy, float* workspace);
  void Store(const float* const* sums, int copies, float* dw, int part, int parts) const;
  Buffers BuffersAt(float* workspace, int copy) const;

  const ConvForm form_;
  const DirectBlocking blocking_;
  const MicroKernelSet& kernels_;
  ThreadPool& pool_;
  const int64_t lanes_;
  const int64_t lane_blocks_;
  Spatial padded_ = {1, 1, 1};  // Extents of the packed x.
  std::vector<InBlock> blocks_;
  int64_t x_floats_ = 0, dy_floats_ = 0, sums_floats_ = 0;
};

}  // namespace attune::host
