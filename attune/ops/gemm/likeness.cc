// Families, model features and labels of matrix products.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "attune/ops/gemm/gemm_operator.h"
#include "attune/problem/feature_values.h"

namespace attune {
namespace {

std::string PaddedOperands(const Gemm& gemm) {
  Gemm packed = gemm;
  packed.lda = packed.ldb = packed.ldc = 0;
  packed = Normalized(packed);
  return {Flag(gemm.lda != packed.lda, 'a'), Flag(gemm.ldb != packed.ldb, 'b'),
          Flag(gemm.ldc != packed.ldc, 'c')};
}

std::string BatchClass(const Gemm& gemm) {
  if (gemm.batch_count <= 1) return "single";
  return {Flag(gemm.stride_a == 0, 'a'), Flag(gemm.stride_b == 0, 'b')};
}

}  // namespace

std::string FamilyOf(const Gemm& raw) {
  const Gemm gemm = Normalized(raw);
  return fmt::format(
      "gemm {}{} {} {} {} alpha={} beta={} bias={} act={} {} batch={} padded={} thin={}{}",
      Flag(gemm.trans_a == Transpose::kYes, 't'), Flag(gemm.trans_b == Transpose::kYes, 't'),
      Name(gemm.type), Name(gemm.c_type), Name(gemm.math), static_cast<int>(gemm.alpha),
      static_cast<int>(gemm.beta), static_cast<int>(gemm.bias), static_cast<int>(gemm.activation),
      Flag(gemm.deterministic, 'd'), BatchClass(gemm), PaddedOperands(gemm), Flag(gemm.m == 1, 'm'),
      Flag(gemm.n == 1, 'n'));
}

std::vector<std::string> GemmFeatureNames() {
  return {"one",        "flops",     "bytes",      "m",         "n",      "k",       "batch",
          "trans_a",    "trans_b",   "type_bytes", "bf16",      "math",   "beta",    "bias",
          "activation", "log_flops", "log_bytes",  "intensity", "twos_m", "twos_n",  "twos_k",
          "twos_lda",   "twos_ldb",  "smallest",   "largest",   "aspect", "outputs", "alignment"};
}

std::vector<double> FeatureValuesOf(const Gemm& g) {
  const Problem problem = g;
  const double flops = std::max(Flops(problem), 1.0);
  const double bytes = CompulsoryBytes(problem);
  return {1,
          flops,
          bytes,
          Log(g.m),
          Log(g.n),
          Log(g.k),
          Log(g.batch_count),
          Switch(g.trans_a == Transpose::kYes),
          Switch(g.trans_b == Transpose::kYes),
          Number(static_cast<int64_t>(SizeBytes(g.type))),
          Switch(g.type == DataType::kBf16),
          Number(static_cast<int64_t>(g.math)),
          Switch(g.beta != ScalarClass::kZero),
          Switch(g.bias != Bias::kNone),
          Switch(g.activation != Activation::kNone),
          Log(flops),
          Log(bytes),
          Log(flops / bytes),
          TwosIn(g.m),
          TwosIn(g.n),
          TwosIn(g.k),
          TwosIn(g.lda),
          TwosIn(g.ldb),
          Log(std::min({g.m, g.n, g.k})),
          Log(std::max({g.m, g.n, g.k})),
          std::log2(Number(g.m) / Number(g.n)),
          Log(Number(g.m) * Number(g.n)),
          Log(Number(g.alignment_bytes))};
}

std::string LabelOf(const Gemm& gemm) {
  const Gemm packed = Normalized([&] {
    Gemm plain = gemm;
    plain.lda = plain.ldb = plain.ldc = 0;
    return plain;
  }());
  std::string text = fmt::format("gemm {}x{}x{} {}{}", gemm.m, gemm.n, gemm.k,
                                 gemm.trans_a == Transpose::kYes ? 't' : 'n',
                                 gemm.trans_b == Transpose::kYes ? 't' : 'n');
  if (gemm.batch_count != 1) text += fmt::format(" b{}", gemm.batch_count);
  if (packed.lda != gemm.lda || packed.ldb != gemm.ldb || packed.ldc != gemm.ldc) {
    text += fmt::format(" ld{}/{}/{}", gemm.lda, gemm.ldb, gemm.ldc);
  }
  if (gemm.alpha == ScalarClass::kZero) text += " alpha zero";
  if (gemm.alpha == ScalarClass::kOther) text += " alpha other";
  if (gemm.beta != ScalarClass::kZero) text += " +C";
  if (gemm.bias != Bias::kNone) text += " +bias";
  if (gemm.activation != Activation::kNone) text += " +act";
  if (gemm.math != MathMode::kStrict) text += fmt::format(" {}", Name(gemm.math));
  text += fmt::format(" {}", Name(gemm.type));
  if (gemm.c_type != gemm.type) text += fmt::format("->{}", Name(gemm.c_type));
  return text;
}

}  // namespace attune
