// Copies of matrices with unaligned columns to matrices with columns aligned for wide loads, and
// back.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "attune/base/status.h"
#include "attune/solver/solver.h"
#include "backends/cuda/driver/module.h"
#include "backends/cuda/driver/nvrtc.h"

namespace attune::cuda {

// One copy, in the layout of the kernel's argument: every count is in bytes or in columns. Columns
// of `from` are `bytes` long; those of `to` are `to_bytes` long, with zeros after the copied part,
// and those from `columns` to `to_columns` are zeros. Starts and strides are multiples of an
// element, of any alignment: whole 16-byte words of `to` are written at once, out of the aligned
// words of `from` that hold them.
struct ColumnCopy {
  uint64_t from = 0;
  uint64_t to = 0;
  int64_t from_stride = 0;  // From one column to the next.
  int64_t to_stride = 0;
  int64_t from_matrix = 0;  // From one matrix to the next.
  int64_t to_matrix = 0;
  int64_t bytes = 0;
  int64_t to_bytes = 0;
  int64_t columns = 0;
  int64_t to_columns = 0;
  int64_t matrices = 0;  // 0: nothing is copied.
};

// The recipe of the kernel, for elements of 1, 2, 4 or 8 bytes. One build serves every size.
Result<BuildRecipe> RealignRecipe(const Nvrtc& nvrtc, int element_bytes, const std::string& arch);

// The kernel on a device.
class Realigner {
 public:
  static Result<Realigner> Load(CudaDevice& device, const Artifact& cubin);

  // Enqueues both copies as one launch; nothing if neither has matrices.
  Status Launch(const ColumnCopy& first, const ColumnCopy& second, CUstream stream) const;

 private:
  Realigner(std::shared_ptr<Module> module, CUfunction function)
      : module_(std::move(module)), function_(function) {}

  std::shared_ptr<Module> module_;
  CUfunction function_;
};

}  // namespace attune::cuda
