// Runs the products of a GemmConvPlan.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <utility>

#include "attune/device/device.h"
#include "attune/ops/conv/conv.h"
#include "attune/ops/gemm/gemm.h"
#include "attune/solver/solver.h"
#include "backends/host/conv/gemm_conv_plan.h"
#include "backends/host/threads/thread_pool.h"

namespace attune::host {

class GemmConvExecutable final : public Executable {
 public:
  // `pool` must outlive it.
  GemmConvExecutable(const Conv& conv, GemmConvPlan plan, int threads, ThreadPool& pool);

  // Loads one product for each size that the plan has. Called once, before anything else.
  Status LoadProducts(const Solver& gemm, Device& device);

  size_t workspace_bytes() const override { return columns_bytes_ + product_bytes_; }
  bool is_concurrent() const override;
  Status Run(const Arguments& arguments) override;

 private:
  struct Product {
    bool swapped = false;
    std::unique_ptr<Executable> executable;
  };
  // Output rows and whether it adds to the output.
  using ProductKey = std::pair<int64_t, bool>;

  // Addresses of one call, in bytes.
  struct Call {
    std::byte* x = nullptr;
    std::byte* w = nullptr;
    std::byte* y = nullptr;
    const std::byte* bias = nullptr;
    std::byte* columns = nullptr;
    BufferView product_workspace;
  };

  Call CallOf(const Arguments& arguments) const;
  Status RunUnit(const Call& call, const GemmUnit& unit, int64_t group);
  Status Multiply(const Call& call, const GemmUnit& unit, int64_t group);
  // Gathers, or for backward data scatters, the columns of every image of a unit.
  void MoveColumns(const Call& call, const GemmUnit& unit, int64_t group);
  template <class T>
  void MoveColumnsAs(const Call& call, const GemmUnit& unit, int64_t group);
  void ClearInput(const Call& call);
  template <class T>
  void AddBias(const Call& call);

  const Conv conv_;
  const GemmConvPlan plan_;
  const int threads_;
  ThreadPool& pool_;
  const size_t element_bytes_;
  size_t columns_bytes_ = 0;
  size_t product_bytes_ = 0;
  std::map<ProductKey, Product> products_;
};

// The first config of `gemm` for this product that uses `threads` threads or, where the product is
// too small for so many, the most below: never more than `threads`. The default if threads are no
// parameter of `gemm`. kUnsupported if every config needs more.
Result<Config> ProductConfig(const Solver& gemm, const Gemm& product, const Target& target,
                             int threads);

}  // namespace attune::host
