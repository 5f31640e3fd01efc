#include "extensions/interposers/cublas/matmul_call.h"

namespace attune::cublas {
namespace {

constexpr int32_t kTypeOfOutput = -1;

bool IsPlain(const MatrixLayout& layout) {
  return layout.order == CUBLASLT_ORDER_COL && layout.plane_offset == 0 &&
         layout.batch_mode == CUBLASLT_BATCH_MODE_STRIDED;
}

Outcome CheckOperation(const MatmulCall& call) {
  const MatmulOperation& operation = call.operation;
  if (!IsKnownEpilogue(operation.epilogue)) return Outcome::kEpilogue;
  if (operation.pointer_mode != CUBLASLT_POINTER_MODE_HOST) return Outcome::kScalars;
  if (operation.has_scales || operation.trans_c != CUBLAS_OP_N ||
      operation.fill_mode != CUBLAS_FILL_MODE_FULL) {
    return Outcome::kLayout;
  }
  const cudaDataType type = call.d_layout.type;
  const auto usual = type == CUDA_R_64F || type == CUDA_R_32I ? type : CUDA_R_32F;
  return operation.scale_type == usual ? Outcome::kServed : Outcome::kTypes;
}

// The bias has an element for each row of D, as attune's per row, and one vector serves all
// matrices of a batch.
Outcome CheckBias(const MatmulCall& call) {
  const MatmulOperation& operation = call.operation;
  if (!AddsBias(operation.epilogue)) return Outcome::kServed;
  if (operation.bias == nullptr) return Outcome::kInvalid;
  if (operation.bias_type != kTypeOfOutput &&
      operation.bias_type != static_cast<int32_t>(call.d_layout.type)) {
    return Outcome::kTypes;
  }
  return call.d_layout.batch_count > 1 && operation.bias_stride != 0 ? Outcome::kEpilogue
                                                                     : Outcome::kServed;
}

Outcome CheckLayouts(const MatmulCall& call) {
  const MatrixLayout& a = call.a_layout;
  const MatrixLayout& b = call.b_layout;
  const MatrixLayout& d = call.d_layout;
  if (!IsPlain(a) || !IsPlain(b) || !IsPlain(d)) return Outcome::kLayout;
  if (a.batch_count != d.batch_count || b.batch_count != d.batch_count) return Outcome::kLayout;
  const bool turns_a = call.operation.trans_a != CUBLAS_OP_N;
  const bool turns_b = call.operation.trans_b != CUBLAS_OP_N;
  const uint64_t depth = turns_a ? a.rows : a.columns;
  const bool fits = (turns_a ? a.columns : a.rows) == d.rows &&
                    (turns_b ? b.rows : b.columns) == d.columns &&
                    (turns_b ? b.columns : b.rows) == depth;
  return fits ? Outcome::kServed : Outcome::kInvalid;
}

Operand OperandOf(const void* data, const MatrixLayout& layout) {
  return {data, layout.type, layout.leading, layout.stride};
}

GemmCall GemmOf(const MatmulCall& call) {
  const bool turns_a = call.operation.trans_a != CUBLAS_OP_N;
  const auto& a = call.a_layout;
  return {.trans_a = call.operation.trans_a,
          .trans_b = call.operation.trans_b,
          .m = static_cast<int64_t>(call.d_layout.rows),
          .n = static_cast<int64_t>(call.d_layout.columns),
          .k = static_cast<int64_t>(turns_a ? a.rows : a.columns),
          .alpha = call.alpha,
          .a = OperandOf(call.a, a),
          .b = OperandOf(call.b, call.b_layout),
          .beta = call.beta,
          .c = OperandOf(call.d, call.d_layout),
          .batch_count = call.d_layout.batch_count,
          .compute = call.operation.compute};
}

// attune adds the previous content of C; cuBLASLt can add another matrix.
bool IsInPlace(const MatmulCall& call) {
  return call.c == call.d && call.c_layout == call.d_layout;
}

}  // namespace

bool IsKnownEpilogue(uint32_t epilogue) {
  return epilogue == CUBLASLT_EPILOGUE_DEFAULT || epilogue == CUBLASLT_EPILOGUE_BIAS ||
         epilogue == CUBLASLT_EPILOGUE_RELU || epilogue == CUBLASLT_EPILOGUE_RELU_BIAS;
}

bool AddsBias(uint32_t epilogue) {
  return epilogue == CUBLASLT_EPILOGUE_BIAS || epilogue == CUBLASLT_EPILOGUE_RELU_BIAS;
}

Outcome Describe(const MatmulCall& call, Product& product) {
  Outcome outcome = CheckOperation(call);
  if (outcome == Outcome::kServed) outcome = CheckLayouts(call);
  if (outcome == Outcome::kServed) outcome = CheckBias(call);
  if (outcome == Outcome::kServed) {
    outcome = Describe(GemmOf(call), {.stream = call.stream}, product);
  }
  if (outcome != Outcome::kServed) return outcome;
  if (product.arguments.beta != 0 && !IsInPlace(call)) return Outcome::kLayout;
  const uint32_t epilogue = call.operation.epilogue;
  // cuBLASLt has none for integers, and reports that.
  if (product.gemm.type == ATTUNE_I8 && epilogue != CUBLASLT_EPILOGUE_DEFAULT) {
    return Outcome::kEpilogue;
  }
  if (AddsBias(epilogue)) {
    product.gemm.bias = ATTUNE_BIAS_PER_ROW;
    product.arguments.bias = call.operation.bias;
  }
  if (epilogue == CUBLASLT_EPILOGUE_RELU || epilogue == CUBLASLT_EPILOGUE_RELU_BIAS) {
    product.gemm.activation = ATTUNE_RELU;
  }
  return Outcome::kServed;
}

}  // namespace attune::cublas
