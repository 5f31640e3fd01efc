// Runs a TapPlan with register tiles, cache blocks and threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "backends/host/conv/micro_kernel.h"
#include "backends/host/conv/tap_plan.h"
#include "backends/host/threads/thread_pool.h"

namespace attune::host {

// The division of the work. direct_conv.h describes it for each direction.
struct DirectBlocking {
  int tile = 1;          // J of the micro kernel.
  int vectors = 1;       // V of the micro kernel.
  int64_t channels = 1;  // Summed channels at a time.
  int64_t rows = 1;      // Output rows at a time.
  bool rows_outermost = false;
  bool split_images = false;  // Threads take images; else they share each one.
  int threads = 1;
};

// [begin, end) of `total` items for part `part` of `parts`.
struct WorkRange {
  int64_t begin = 0, end = 0;
};
WorkRange ShareOf(int64_t total, int part, int parts);

// Cuts `extent` into ceil(extent / largest) nearly equal pieces: the length of piece `index`, and
// where it starts.
struct Piece {
  int64_t start = 0, length = 0;
};
Piece BalancedPiece(int64_t extent, int64_t largest, int64_t index);
int64_t PieceCount(int64_t extent, int64_t largest);

// Not thread-safe.
class TapConv {
 public:
  // `kernels` and `pool` must outlive it.
  TapConv(TapPlan plan, const DirectBlocking& blocking, const MicroKernelSet& kernels,
          ThreadPool& pool);

  size_t workspace_bytes() const;
  // `bias` may be null; `workspace` is aligned to 64 bytes.
  void Run(const float* in, const float* weights, const float* bias, float* out, float* workspace);

 private:
  // The constant part of a pass, the same for all calls.
  struct Pass {
    std::vector<int64_t> tap_offsets;  // In floats of the packed input.
    int64_t rows = 0;                  // Output rows, over depth and height.
    int64_t chunks = 0;
    int64_t weights_offset = 0;  // To the first group, in packed weights.
  };
  // Addresses of one call.
  struct Call {
    const float* in = nullptr;
    const float* weights = nullptr;
    const float* bias = nullptr;
    float* out = nullptr;
    float* packed_weights = nullptr;
    float* private_parts = nullptr;
  };
  // The image and group in work, and their buffers.
  struct Place {
    int64_t image = 0, group = 0;
    const float* packed = nullptr;
    float* tile = nullptr;
  };

  int64_t lane_blocks() const;
  int64_t WeightFloats(size_t pass) const;
  void PackAllWeights(const Call& call);
  void PackRows(const Call& call, const Place& place, float* packed, int part, int parts);
  void RunImages(const Call& call);
  void RunShared(const Call& call);
  void RunTasks(const Call& call, const Place& place, int part, int parts);
  void RunTask(const Call& call, const Place& place, size_t pass, int64_t task);
  void SumTile(const Place& place, size_t pass, const Piece& rows, const float* weights);
  void StoreTile(const Call& call, const Place& place, const TapPass& pass, const Piece& rows,
                 int64_t first_lane);

  const TapPlan plan_;
  const DirectBlocking blocking_;
  const MicroKernelSet& kernels_;
  ThreadPool& pool_;
  const int64_t lanes_;
  std::vector<Pass> passes_;
  int64_t packed_weight_floats_ = 0;
  int64_t packed_input_floats_ = 0;  // For one image and group, rounded up.
  int64_t tile_floats_ = 0;          // Per thread, rounded up.
};

// Floats up to the next cache line.
int64_t RoundUpToLine(int64_t floats);

}  // namespace attune::host
