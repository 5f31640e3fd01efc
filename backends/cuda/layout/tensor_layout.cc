#include "backends/cuda/layout/tensor_layout.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include <fmt/format.h>

#include "backends/cuda/layout/tensor_layout_source.h"

namespace attune::cuda {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kThreadsAlong = 32;
constexpr unsigned kLinesAtOnce = kThreads / kThreadsAlong;
constexpr int64_t kMostBlocksAlong = std::numeric_limits<int32_t>::max();
constexpr int64_t kMostBlocksAcross = 65535;
constexpr int64_t kWordBytes = 16;
// Matrices per thread of an unfolding: finding its own position in them costs as much as several
// words.
constexpr int64_t kColumnsPerThread = 4;
// Images per thread of a folding, likewise, and the blocks that keep every multiprocessor of a
// large GPU busy.
constexpr int64_t kMostImagesOfThread = 32;
constexpr int64_t kBlocksForAllUnits = 2048;

int64_t BlocksFor(int64_t items, int64_t per_block) { return (items + per_block - 1) / per_block; }

unsigned Blocks(int64_t items, int64_t per_block, int64_t most) {
  return static_cast<unsigned>(std::clamp<int64_t>(BlocksFor(items, per_block), 1, most));
}

// The value of TYPE in the kernels.
int NumberOf(DataType type) {
  switch (type) {
    case DataType::kF64:
      return 0;
    case DataType::kF32:
      return 1;
    case DataType::kF16:
      return 2;
    case DataType::kBf16:
      return 3;
    default:
      return 4;
  }
}

// Two narrow elements move at once.
int64_t PairOf(DataType type) { return SizeBytes(type) <= 2 ? 2 : 1; }

bool IsMultiple(const void* address, size_t bytes) {
  return reinterpret_cast<uint64_t>(address) % bytes == 0;
}

}  // namespace

int64_t WordElements(DataType type) { return kWordBytes / static_cast<int64_t>(SizeBytes(type)); }

int64_t RoundUpToWords(int64_t elements, DataType type) {
  const int64_t step = WordElements(type);
  return (elements + step - 1) / step * step;
}

DataType SumTypeOf(DataType type) { return type == DataType::kF64 ? type : DataType::kF32; }

Result<BuildRecipe> TensorLayoutRecipe(const Nvrtc& nvrtc, DataType type, const std::string& arch) {
  return MakeRecipe(nvrtc, std::string(kTensorLayoutSource),
                    fmt::format("-DTYPE={}", NumberOf(type)), arch);
}

Result<TensorLayout> TensorLayout::Load(CudaDevice& device, const Artifact& cubin, DataType type) {
  ATTUNE_ASSIGN_OR_RETURN(std::shared_ptr<Module> module, Module::Load(device, cubin));
  TensorLayout layout(std::move(module), type);
  ATTUNE_ASSIGN_OR_RETURN(layout.relayout_, layout.module_->Function("relayout", 0));
  if (type == DataType::kF32) {
    ATTUNE_ASSIGN_OR_RETURN(layout.split_, layout.module_->Function("split", 0));
  }
  ATTUNE_ASSIGN_OR_RETURN(layout.unfold_, layout.module_->Function("unfold", 0));
  ATTUNE_ASSIGN_OR_RETURN(layout.unfold_wide_, layout.module_->Function("unfold_wide", 0));
  if (SizeBytes(type) == 1) return layout;
  ATTUNE_ASSIGN_OR_RETURN(layout.fold_, layout.module_->Function("fold", 0));
  ATTUNE_ASSIGN_OR_RETURN(layout.add_parts_, layout.module_->Function("add_parts", 0));
  return layout;
}

Relayout WithEvenLines(Relayout task, DataType type) {
  const int64_t pair = PairOf(type);
  const size_t pair_bytes = static_cast<size_t>(pair) * SizeBytes(type);
  task.is_from_even = IsMultiple(task.from, pair_bytes) && task.from_row % pair == 0 &&
                      task.from_matrix % pair == 0;
  task.is_to_even =
      IsMultiple(task.to, pair_bytes) && task.to_line % pair == 0 && task.to_matrix % pair == 0;
  return task;
}

Split WithEvenLines(Split task, DataType type) {
  const int64_t pair = PairOf(type);
  task.copy = WithEvenLines(task.copy, type);
  if (task.from_run % pair != 0) task.copy.is_from_even = 0;
  if (task.to_run % pair != 0 || task.to_part % pair != 0) task.copy.is_to_even = 0;
  return task;
}

bool HasWideWords(const Unfold& task, DataType type) {
  const int64_t word = WordElements(type);
  const auto is_whole = [word](int64_t elements) { return elements % word == 0; };
  return task.is_values_inner && !task.windows.is_tap_inner && task.from_channel == 1 &&
         IsMultiple(task.from, kWordBytes) && is_whole(task.windows.channels) &&
         is_whole(task.from_image) && is_whole(task.from_matrix) &&
         std::all_of(std::begin(task.from_pixel), std::end(task.from_pixel), is_whole);
}

Result<LaunchShape> ShapeOf(const Relayout& task, DataType type) {
  const int64_t tile = kThreadsAlong * PairOf(type);
  const int64_t tiles = BlocksFor(task.to_columns, tile) * BlocksFor(task.to_rows, tile);
  if (tiles > kMostBlocksAlong) {
    return Unsupported(fmt::format("A matrix of {} x {} elements is too large to be transposed.",
                                   task.to_rows, task.to_columns));
  }
  LaunchShape shape;
  shape.block[0] = kThreadsAlong;
  shape.block[1] = kLinesAtOnce;
  shape.grid[0] = static_cast<unsigned>(tiles);
  shape.grid[1] = Blocks(task.to_matrices, 1, kMostBlocksAcross);
  return shape;
}

LaunchShape ShapeOf(const Unfold& task, DataType type) {
  LaunchShape shape;
  shape.block[0] = kThreadsAlong;
  shape.block[1] = kLinesAtOnce;
  const int64_t columns = task.is_values_inner ? task.pixels : task.values;
  shape.grid[0] = Blocks(task.to_leading / WordElements(type), kThreadsAlong, kMostBlocksAlong);
  shape.grid[1] = Blocks(columns, kLinesAtOnce * kColumnsPerThread, kMostBlocksAcross);
  shape.grid[2] = Blocks(task.matrices, 1, kMostBlocksAcross);
  return shape;
}

LaunchShape ShapeOf(const Fold& task) {
  LaunchShape shape;
  shape.block[0] = kThreads;
  shape.grid[0] = Blocks(task.elements, kThreads, kMostBlocksAlong);
  // The position of a thread's element is computed once for all its images, but there have to be
  // enough threads.
  const int64_t blocks_of_each = static_cast<int64_t>(shape.grid[0]) * task.images;
  const int64_t images =
      std::clamp<int64_t>(blocks_of_each / kBlocksForAllUnits, kImagesAtOnce, kMostImagesOfThread);
  shape.grid[1] = Blocks(task.images, images, kMostBlocksAcross);
  return shape;
}

LaunchShape ShapeOf(const PartialSums& task) {
  LaunchShape shape;
  shape.block[0] = kThreadsAlong;
  while (shape.block[0] < kThreads && shape.block[0] < task.rows) shape.block[0] *= 2;
  shape.block[1] = kThreads / shape.block[0];
  shape.grid[0] = Blocks(task.rows, shape.block[0], kMostBlocksAlong);
  shape.grid[1] = Blocks(task.columns, shape.block[1], kMostBlocksAcross);
  return shape;
}

Status TensorLayout::Launch(const Relayout& task, CUstream stream) const {
  Relayout argument = WithEvenLines(task, type_);
  ATTUNE_ASSIGN_OR_RETURN(const LaunchShape shape, ShapeOf(argument, type_));
  void* arguments[] = {&argument};
  return module_->Launch(relayout_, shape, arguments, stream);
}

Status TensorLayout::Launch(const Split& task, CUstream stream) const {
  Split argument = WithEvenLines(task, type_);
  ATTUNE_ASSIGN_OR_RETURN(const LaunchShape shape, ShapeOf(argument.copy, type_));
  void* arguments[] = {&argument};
  return module_->Launch(split_, shape, arguments, stream);
}

Status TensorLayout::Launch(const Unfold& task, CUstream stream) const {
  Unfold argument = task;
  void* arguments[] = {&argument};
  return module_->Launch(HasWideWords(task, type_) ? unfold_wide_ : unfold_, ShapeOf(task, type_),
                         arguments, stream);
}

Status TensorLayout::Launch(const Fold& task, CUstream stream) const {
  Fold argument = task;
  void* arguments[] = {&argument};
  return module_->Launch(fold_, ShapeOf(task), arguments, stream);
}

Status TensorLayout::Launch(const PartialSums& task, CUstream stream) const {
  PartialSums argument = task;
  void* arguments[] = {&argument};
  return module_->Launch(add_parts_, ShapeOf(task), arguments, stream);
}

}  // namespace attune::cuda
