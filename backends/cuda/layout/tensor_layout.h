// Changes of layout around products and engines, on a device: transpositions, elements in two
// parts, windows of images as matrices and back, and sums of partial products.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "attune/base/data_type.h"
#include "attune/base/status.h"
#include "attune/solver/solver.h"
#include "backends/cuda/driver/module.h"
#include "backends/cuda/driver/nvrtc.h"
#include "backends/cuda/layout/tensor_layout_arguments.h"

namespace attune::cuda {

// Elements of `type` in a word of 16 bytes: the alignment of columns of unfolded windows.
int64_t WordElements(DataType type);
int64_t RoundUpToWords(int64_t elements, DataType type);

// The type of sums of products of `type` until they are rounded: f32, or f64 for f64.
DataType SumTypeOf(DataType type);

// The recipe of the kernels. One build serves every size. Types of one byte are only moved: they
// have no Fold and no PartialSums. f32 alone has Split. REQUIRES: `type` is f64, f32, f16, bf16 or
// of one byte.
Result<BuildRecipe> TensorLayoutRecipe(const Nvrtc& nvrtc, DataType type, const std::string& arch);

// The kernels on a device, for elements of one type. Every call enqueues one launch.
class TensorLayout {
 public:
  static Result<TensorLayout> Load(CudaDevice& device, const Artifact& cubin, DataType type);

  // Checks itself if lines begin evenly.
  Status Launch(const Relayout& task, CUstream stream) const;
  // Likewise. REQUIRES: elements are f32.
  Status Launch(const Split& task, CUstream stream) const;
  // Checks itself if whole words of the image can be read.
  Status Launch(const Unfold& task, CUstream stream) const;
  // REQUIRES, as of the next one: elements have more than one byte.
  Status Launch(const Fold& task, CUstream stream) const;
  Status Launch(const PartialSums& task, CUstream stream) const;

 private:
  TensorLayout(std::shared_ptr<Module> module, DataType type)
      : module_(std::move(module)), type_(type) {}

  std::shared_ptr<Module> module_;
  DataType type_;
  CUfunction relayout_ = nullptr;
  CUfunction split_ = nullptr;
  CUfunction unfold_ = nullptr;
  CUfunction unfold_wide_ = nullptr;
  CUfunction fold_ = nullptr;
  CUfunction add_parts_ = nullptr;
};

// Shapes of one launch each: threads, and enough blocks for all dimensions without a loop.
Result<LaunchShape> ShapeOf(const Relayout& task, DataType type);
LaunchShape ShapeOf(const Unfold& task, DataType type);
LaunchShape ShapeOf(const Fold& task);
LaunchShape ShapeOf(const PartialSums& task);

// `task` with the flags that its addresses and distances allow.
Relayout WithEvenLines(Relayout task, DataType type);
Split WithEvenLines(Split task, DataType type);
// True if every word of the columns is a word of the image, or zeros.
bool HasWideWords(const Unfold& task, DataType type);

}  // namespace attune::cuda
