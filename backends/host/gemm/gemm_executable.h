// Any kernel for one product, made into a whole gemm: batches, threads, bias and activation.
#pragma once

#include <atomic>
#include <memory>

#include "attune/device/device.h"
#include "attune/ops/gemm/gemm.h"
#include "backends/host/gemm/matrix_product.h"
#include "backends/host/gemm/work_split.h"
#include "backends/host/kernels/kernel_table.h"
#include "backends/host/threads/thread_pool.h"

namespace attune::host {

// Resources that kernels share on this machine. Both outlive every executable.
struct HostResources {
  ThreadPool* pool = nullptr;
  const KernelTable* kernels = nullptr;
};

class GemmExecutable final : public Executable {
 public:
  // REQUIRES: `gemm` is normalised, with A, B and C all kF32 or all kF64.
  GemmExecutable(const Gemm& gemm, std::unique_ptr<const ProductKernel> kernel, Division division,
                 HostResources resources);

  size_t workspace_bytes() const override;
  bool is_concurrent() const override { return true; }
  Status Run(const Arguments& arguments) override;

 private:
  struct Operands;

  // With a batch, threads of ours or an epilogue, which most calls of small products have not.
  Status RunInParts(const Arguments& arguments) const;
  Status OutOfResources() const;
  Operands Bind(const Arguments& arguments) const;
  MatrixProduct ProductOf(const Operands& operands, int64_t item) const;
  std::byte* ScratchOf(const Operands& operands, int part) const;
  // Both set `failed` if a kernel did not get its threads or memory.
  void RunByItem(const Operands& operands, std::atomic<bool>& failed) const;
  void RunSliced(const Operands& operands, std::atomic<bool>& failed) const;
  void RunByDepth(const Operands& operands, std::atomic<bool>& failed) const;
  void AddPartialSums(const MatrixProduct& product, const Operands& operands,
                      IndexRange columns) const;
  // Bias and activation on a block of C of one product; does nothing if there are none.
  void Finish(const Operands& operands, const MatrixProduct& product, IndexRange rows,
              IndexRange columns) const;

  const Gemm gemm_;
  const MatrixProduct shape_;  // One product of `gemm_` without its addresses.
  const std::unique_ptr<const ProductKernel> kernel_;
  const WorkSplit split_;
  const int parts_;  // Threads of the pool that take part.
  const bool is_one_product_;
  const HostResources resources_;
  const size_t element_bytes_;
  const size_t scratch_bytes_;      // Per part.
  const size_t partial_sum_bytes_;  // Per part beside the first; 0 unless split by depth.
};

}  // namespace attune::host
