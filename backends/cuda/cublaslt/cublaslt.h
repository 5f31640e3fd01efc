// cuBLASLt, loaded at run time, and one handle of it for each context.
#pragma once

#include <cublasLt.h>
#include <cuda.h>

#include <map>
#include <mutex>
#include <string_view>

#include "attune/base/status.h"
#include "attune/solver/backend.h"

namespace attune::cuda {

#define ATTUNE_CUBLASLT_FUNCTIONS(X)      \
  X(cublasLtCreate)                       \
  X(cublasLtGetVersion)                   \
  X(cublasLtGetStatusName)                \
  X(cublasLtMatmul)                       \
  X(cublasLtMatmulAlgoCapGetAttribute)    \
  X(cublasLtMatmulAlgoCheck)              \
  X(cublasLtMatmulAlgoConfigGetAttribute) \
  X(cublasLtMatmulAlgoConfigSetAttribute) \
  X(cublasLtMatmulAlgoGetHeuristic)       \
  X(cublasLtMatmulAlgoGetIds)             \
  X(cublasLtMatmulAlgoInit)               \
  X(cublasLtMatmulDescCreate)             \
  X(cublasLtMatmulDescDestroy)            \
  X(cublasLtMatmulDescSetAttribute)       \
  X(cublasLtMatmulPreferenceCreate)       \
  X(cublasLtMatmulPreferenceDestroy)      \
  X(cublasLtMatmulPreferenceSetAttribute) \
  X(cublasLtMatrixLayoutCreate)           \
  X(cublasLtMatrixLayoutDestroy)          \
  X(cublasLtMatrixLayoutSetAttribute)

// Loaded by its constructor. Thread-safe.
class CublasLt {
 public:
  CublasLt();

#define ATTUNE_CUBLASLT_DECLARE(NAME) decltype(&::NAME) NAME = nullptr;
  ATTUNE_CUBLASLT_FUNCTIONS(ATTUNE_CUBLASLT_DECLARE)
#undef ATTUNE_CUBLASLT_DECLARE

  const LibraryReport& report() const { return report_; }
  bool available() const { return report_.available; }

  // The handle of the context that is current in this thread, `context`. Handles stay for the life
  // of the process: making one takes tens of milliseconds, and contexts are primary ones.
  Result<cublasLtHandle_t> HandleOf(CUcontext context) const;

  // A capability of an algorithm; 0 if the library does not report it.
  uint32_t Capability(const cublasLtMatmulAlgo_t& algorithm,
                      cublasLtMatmulAlgoCapAttributes_t which) const;

  // Ok, or "cuBLASLt <what>: CUBLAS_STATUS_NOT_SUPPORTED.": kUnsupported for problems beyond the
  // library, kResourceExhausted if memory ran out, kInternal otherwise.
  Status Check(cublasStatus_t code, std::string_view what) const;

 private:
  LibraryReport report_;
  mutable std::mutex mutex_;
  mutable std::map<CUcontext, cublasLtHandle_t> handles_;
};

}  // namespace attune::cuda
