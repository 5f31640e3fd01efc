#include "attune/tunable/blas_params.h"

#include <string_view>

#include <fmt/format.h>

#include "attune/ops/gemm/gemm.h"

namespace attune {
namespace {

int ValueOf(ScalarClass scalar) {
  switch (scalar) {
    case ScalarClass::kZero:
      return 0;
    case ScalarClass::kOne:
      return 1;
    case ScalarClass::kOther:
      return 2;
  }
  return 2;
}

std::string_view ComputeType(const Gemm& gemm) {
  if (gemm.type == DataType::kF64) return "c_f64_r";
  if (gemm.type == DataType::kI8) return "c_i32_r";
  return gemm.math == MathMode::kTf32 ? "c_xf32_r" : "c_f32_r";
}

std::string_view ScaleType(const Gemm& gemm) {
  if (gemm.type == DataType::kF64) return "f64_r";
  return gemm.type == DataType::kI8 ? "i32_r" : "f32_r";
}

char Letter(Transpose transpose) { return transpose == Transpose::kYes ? 'T' : 'N'; }

}  // namespace

std::string BlasParams(const Problem& problem) {
  const Gemm* const gemm = problem.As<Gemm>();
  if (gemm == nullptr) return {};
  std::string text = fmt::format(
      "- {{ function: matmul, M: {}, N: {}, K: {}, lda: {}, ldb: {}, ldc: {}, ldd: {}, "
      "stride_a: {}, stride_b: {}, stride_c: {}, stride_d: {}, alpha: {}, beta: {}, ",
      gemm->m, gemm->n, gemm->k, gemm->lda, gemm->ldb, gemm->ldc, gemm->ldc, gemm->stride_a,
      gemm->stride_b, gemm->stride_c, gemm->stride_c, ValueOf(gemm->alpha), ValueOf(gemm->beta));
  text += fmt::format("transA: {}, transB: {}, batch_count: {}, ", Letter(gemm->trans_a),
                      Letter(gemm->trans_b), gemm->batch_count);
  const std::string_view in = Name(gemm->type);
  const std::string_view out = Name(gemm->c_type);
  text += fmt::format("a_type: {}_r, b_type: {}_r, c_type: {}_r, d_type: {}_r, scale_type: {}, ",
                      in, in, out, out, ScaleType(*gemm));
  if (gemm->bias != Bias::kNone) {
    text += fmt::format("bias_vector: true, bias_type: {}_r, ", out);
  }
  text += fmt::format("compute_type: {} }}", ComputeType(*gemm));
  return text;
}

}  // namespace attune
