#include "extensions/interposers/cublas/matmul_reader.h"

namespace attune::cublas {
namespace {

template <class Get, class Descriptor, class Attribute, class Value>
bool ReadOne(Get get, Descriptor descriptor, Attribute attribute, Value& value) {
  size_t written = 0;
  return get(descriptor, attribute, &value, sizeof value, &written) == CUBLAS_STATUS_SUCCESS;
}

// Older libraries do not know the attribute, so it cannot have been set.
template <class Get, class Descriptor, class Attribute, class Value>
void ReadIfKnown(Get get, Descriptor descriptor, Attribute attribute, Value& value) {
  Value read = value;
  if (ReadOne(get, descriptor, attribute, read)) value = read;
}

constexpr cublasLtMatmulDescAttributes_t kScales[] = {
    CUBLASLT_MATMUL_DESC_A_SCALE_POINTER,     CUBLASLT_MATMUL_DESC_B_SCALE_POINTER,
    CUBLASLT_MATMUL_DESC_C_SCALE_POINTER,     CUBLASLT_MATMUL_DESC_D_SCALE_POINTER,
    CUBLASLT_MATMUL_DESC_D_OUT_SCALE_POINTER, CUBLASLT_MATMUL_DESC_AMAX_D_POINTER};

}  // namespace

bool MatmulReader::Read(cublasLtMatmulDesc_t descriptor, MatmulOperation& operation) const {
  const auto get = operation_attribute;
  if (descriptor == nullptr ||
      !ReadOne(get, descriptor, CUBLASLT_MATMUL_DESC_EPILOGUE, operation.epilogue)) {
    return false;
  }
  if (!IsKnownEpilogue(operation.epilogue)) return true;
  if (!ReadOne(get, descriptor, CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, operation.compute) ||
      !ReadOne(get, descriptor, CUBLASLT_MATMUL_DESC_SCALE_TYPE, operation.scale_type) ||
      !ReadOne(get, descriptor, CUBLASLT_MATMUL_DESC_POINTER_MODE, operation.pointer_mode) ||
      !ReadOne(get, descriptor, CUBLASLT_MATMUL_DESC_TRANSA, operation.trans_a) ||
      !ReadOne(get, descriptor, CUBLASLT_MATMUL_DESC_TRANSB, operation.trans_b) ||
      !ReadOne(get, descriptor, CUBLASLT_MATMUL_DESC_TRANSC, operation.trans_c) ||
      !ReadOne(get, descriptor, CUBLASLT_MATMUL_DESC_FILL_MODE, operation.fill_mode)) {
    return false;
  }
  for (const auto attribute : kScales) {
    const void* scale = nullptr;
    ReadIfKnown(get, descriptor, attribute, scale);
    operation.has_scales = operation.has_scales || scale != nullptr;
  }
  if (!AddsBias(operation.epilogue)) return true;
  ReadIfKnown(get, descriptor, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, operation.bias_type);
  return ReadOne(get, descriptor, CUBLASLT_MATMUL_DESC_BIAS_POINTER, operation.bias) &&
         ReadOne(get, descriptor, CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, operation.bias_stride);
}

bool MatmulReader::Read(cublasLtMatrixLayout_t descriptor, MatrixLayout& layout) const {
  const auto get = layout_attribute;
  if (descriptor == nullptr ||
      !ReadOne(get, descriptor, CUBLASLT_MATRIX_LAYOUT_TYPE, layout.type) ||
      !ReadOne(get, descriptor, CUBLASLT_MATRIX_LAYOUT_ORDER, layout.order) ||
      !ReadOne(get, descriptor, CUBLASLT_MATRIX_LAYOUT_ROWS, layout.rows) ||
      !ReadOne(get, descriptor, CUBLASLT_MATRIX_LAYOUT_COLS, layout.columns) ||
      !ReadOne(get, descriptor, CUBLASLT_MATRIX_LAYOUT_LD, layout.leading) ||
      !ReadOne(get, descriptor, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, layout.batch_count)) {
    return false;
  }
  ReadIfKnown(get, descriptor, CUBLASLT_MATRIX_LAYOUT_BATCH_MODE, layout.batch_mode);
  return ReadOne(get, descriptor, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, layout.stride) &&
         ReadOne(get, descriptor, CUBLASLT_MATRIX_LAYOUT_PLANE_OFFSET, layout.plane_offset);
}

}  // namespace attune::cublas
