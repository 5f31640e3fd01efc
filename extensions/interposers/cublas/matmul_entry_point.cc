// cublasLtMatmul: the product of cuBLASLt, with arguments in descriptors.

#include "extensions/interposers/cublas/interposer.h"
#include "extensions/interposers/cublas/matmul_call.h"
#include "extensions/interposers/cublas/matmul_reader.h"

namespace attune::cublas {
namespace {

constexpr Companions kReaders = {
    {"cublasLtMatmulDescGetAttribute", "cublasLtMatrixLayoutGetAttribute"}};

MatmulReader ReaderOf(const Binding& binding) {
  return {binding.Companion<decltype(cublasLtMatmulDescGetAttribute)>(0),
          binding.Companion<decltype(cublasLtMatrixLayoutGetAttribute)>(1)};
}

struct Descriptors {
  cublasLtMatmulDesc_t operation;
  cublasLtMatrixLayout_t a, b, c, d;
};

// Completes `call`, which has the operands, from the descriptors.
Outcome Read(const MatmulReader& reader, const Descriptors& from, MatmulCall& call) {
  if (!reader.Read(from.operation, call.operation)) return Outcome::kInvalid;
  if (!IsKnownEpilogue(call.operation.epilogue)) return Outcome::kEpilogue;
  if (!reader.Read(from.a, call.a_layout) || !reader.Read(from.b, call.b_layout) ||
      !reader.Read(from.d, call.d_layout)) {
    return Outcome::kInvalid;
  }
  call.c_layout = call.d_layout;
  if (from.c == from.d) return Outcome::kServed;
  return reader.Read(from.c, call.c_layout) ? Outcome::kServed : Outcome::kInvalid;
}

bool TryToServe(const RealFunction& real, const Binding& binding, const Descriptors& descriptors,
                MatmulCall& call) {
  if (!Wants(binding)) return false;
  Product product;
  Outcome outcome = Outcome::kFailed;
  if (binding.is_whole) outcome = Read(ReaderOf(binding), descriptors, call);
  if (outcome == Outcome::kServed) outcome = Describe(call, product);
  return Serve(real, outcome, product);
}

}  // namespace
}  // namespace attune::cublas

// Ignores the program's choice of an algorithm: it came from the library's heuristic.
extern "C" __attribute__((visibility("default"))) cublasStatus_t CUBLASWINAPI cublasLtMatmul(
    cublasLtHandle_t handle, cublasLtMatmulDesc_t operation, const void* alpha, const void* a,
    cublasLtMatrixLayout_t a_layout, const void* b, cublasLtMatrixLayout_t b_layout,
    const void* beta, const void* c, cublasLtMatrixLayout_t c_layout, void* d,
    cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t* algorithm, void* workspace,
    size_t workspace_bytes, cudaStream_t stream) {
  using namespace attune::cublas;
  static constinit RealFunction real("cublasLtMatmul", kReaders);
  const Binding& binding = real.For(__builtin_return_address(0));
  if (binding.function == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  MatmulCall call = {.operation = {},
                     .alpha = alpha,
                     .a = a,
                     .a_layout = {},
                     .b = b,
                     .b_layout = {},
                     .beta = beta,
                     .c = c,
                     .c_layout = {},
                     .d = d,
                     .d_layout = {},
                     .stream = stream};
  if (TryToServe(real, binding, {operation, a_layout, b_layout, c_layout, d_layout}, call)) {
    return CUBLAS_STATUS_SUCCESS;
  }
  const Passing passing;
  return binding.As<decltype(cublasLtMatmul)>()(handle, operation, alpha, a, a_layout, b, b_layout,
                                                beta, c, c_layout, d, d_layout, algorithm,
                                                workspace, workspace_bytes, stream);
}
