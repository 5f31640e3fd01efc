#include "backends/cuda/cublaslt/cublaslt.h"

#include <string>
#include <vector>

#include <fmt/format.h>

#include "backends/host/shared_library.h"

namespace attune::cuda {
namespace {

// The one that this was compiled against: structures grow with the major version.
const std::string kFileName = fmt::format("libcublasLt.so.{}", CUBLAS_VER_MAJOR);

}  // namespace

CublasLt::CublasLt() {
  report_.name = "cublaslt";
  const Result<host::SharedLibrary> library = host::SharedLibrary::Open({kFileName});
  if (!library.ok()) {
    report_.missing = fmt::format(
        "{} The CUDA toolkit brings it (package libcublas-13-0, or PyPI's nvidia-cublas).",
        library.error().message());
    return;
  }
  report_.path = library->path();
  report_.build_id = library->build_id();
  report_.available = true;
#define ATTUNE_CUBLASLT_FIND(NAME)                               \
  NAME = reinterpret_cast<decltype(NAME)>(library->Find(#NAME)); \
  report_.available = report_.available && NAME != nullptr;
  ATTUNE_CUBLASLT_FUNCTIONS(ATTUNE_CUBLASLT_FIND)
#undef ATTUNE_CUBLASLT_FIND
  if (!report_.available) {
    report_.missing = fmt::format("{} lacks a function of cuBLASLt {}.{}.", library->path(),
                                  CUBLAS_VER_MAJOR, CUBLAS_VER_MINOR);
    return;
  }
  const size_t version = cublasLtGetVersion();
  report_.version = fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

Result<cublasLtHandle_t> CublasLt::HandleOf(CUcontext context) const {
  if (!available()) return Unavailable(report_.missing);
  const std::lock_guard lock(mutex_);
  cublasLtHandle_t& handle = handles_[context];
  if (handle == nullptr) {
    ATTUNE_RETURN_IF_ERROR(Check(cublasLtCreate(&handle), "cannot make a handle"));
  }
  return handle;
}

uint32_t CublasLt::Capability(const cublasLtMatmulAlgo_t& algorithm,
                              cublasLtMatmulAlgoCapAttributes_t which) const {
  uint32_t value = 0;
  size_t written = 0;
  const auto code =
      cublasLtMatmulAlgoCapGetAttribute(&algorithm, which, &value, sizeof value, &written);
  return code == CUBLAS_STATUS_SUCCESS ? value : 0;
}

Status CublasLt::Check(cublasStatus_t code, std::string_view what) const {
  if (code == CUBLAS_STATUS_SUCCESS) return Status::Ok();
  const std::string message =
      fmt::format("cuBLASLt {} {}: {}.", report_.version, what, cublasLtGetStatusName(code));
  switch (code) {
    case CUBLAS_STATUS_NOT_SUPPORTED:
    case CUBLAS_STATUS_INVALID_VALUE:
    case CUBLAS_STATUS_ARCH_MISMATCH:
      return Unsupported(message);
    case CUBLAS_STATUS_ALLOC_FAILED:
      return ResourceExhausted(message);
    default:
      return Internal(message);
  }
}

}  // namespace attune::cuda
