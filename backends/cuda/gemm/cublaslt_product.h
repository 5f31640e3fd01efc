// A Gemm in cuBLASLt's terms: the operation, the layouts, and the algorithms for them.
#pragma once

#include <cublasLt.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "attune/base/status.h"
#include "attune/ops/gemm/gemm.h"
#include "attune/problem/problem.h"
#include "attune/space/config.h"
#include "backends/cuda/cublaslt/cublaslt.h"

namespace attune::cuda {

// The largest scratch memory that an algorithm may ask for: NVIDIA's own recommendation for Hopper,
// and the amount that cuBLAS gives its calls there.
inline constexpr size_t kCublasLtWorkspaceBytes = size_t{32} << 20;

// Ok, or kUnsupported with the part that cuBLASLt cannot express. Needs neither library nor device.
Status CheckCublasLtTakes(const Gemm& gemm);

// Returns false with relu: some kernels of the library then turn NaN into 0 (13.0 on an H200,
// mostly f32).
bool CublasLtKeepsSpecialValues(const Problem& problem);

// The operands of one launch of a product.
struct CublasLtCall {
  double alpha = 1;  // Host numbers, as beta.
  double beta = 0;
  const void* a = nullptr;
  const void* b = nullptr;
  const void* bias = nullptr;  // Null if the problem has none.
  void* c = nullptr;
  void* workspace = nullptr;
  size_t workspace_bytes = 0;
  cudaStream_t stream = nullptr;
};

// The descriptors of one product. Run() points the operation at its bias, so one thread
// at a time uses it.
class CublasLtProduct {
 public:
  // REQUIRES: CheckCublasLtTakes(gemm) is ok.
  static Result<CublasLtProduct> Create(const CublasLt& lt, cublasLtHandle_t handle,
                                        const Gemm& gemm);
  // Uses the handle of `context`. REQUIRES: `context` is current in this thread.
  static Result<CublasLtProduct> On(const CublasLt& lt, CUcontext context, const Gemm& gemm);

  // At most `count` of the library's answers for this product, best guess first, without those that
  // it reports as unusable. kUnsupported if it has none.
  Result<std::vector<cublasLtMatmulHeuristicResult_t>> Heuristics(int count) const;

  // The algorithm with the fields of `config` (see docs/formats/candidate.md), checked by the
  // library; for a config without fields the library's first answer. kUnsupported if no algorithm
  // computes this product with the alignment of its operands and within kCublasLtWorkspaceBytes.
  Result<cublasLtMatmulHeuristicResult_t> Algorithm(const Config& config) const;

  // The fields of `algorithm`.
  Result<Config> FieldsOf(const cublasLtMatmulAlgo_t& algorithm) const;

  // The result of AlgoCheck for `algorithm`: nothing if it does not compute this product, or only
  // with more than kCublasLtWorkspaceBytes. About a microsecond.
  std::optional<cublasLtMatmulHeuristicResult_t> Check(const cublasLtMatmulAlgo_t& algorithm) const;

  const Gemm& gemm() const;

  // Ids of the algorithms for these types, and one of them with all fields at their defaults.
  Result<std::vector<int>> Ids() const;
  Result<cublasLtMatmulAlgo_t> Initialised(int id) const;

  // Enqueues the product.
  Status Run(const cublasLtMatmulAlgo_t& algorithm, const CublasLtCall& call) const;

 private:
  struct Descriptors;

  explicit CublasLtProduct(std::shared_ptr<const Descriptors> descriptors)
      : descriptors_(std::move(descriptors)) {}

  std::shared_ptr<const Descriptors> descriptors_;
};

// A product, and the algorithm that computes it.
struct ChosenProduct {
  CublasLtProduct product;
  cublasLtMatmulHeuristicResult_t algorithm;
};

// `gemm` in the context that is current in this thread, `context`, by the algorithm that `config`
// names.
Result<ChosenProduct> ChooseProduct(const CublasLt& lt, CUcontext context, const Gemm& gemm,
                                    const Config& config);

}  // namespace attune::cuda
