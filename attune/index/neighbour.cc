#include "attune/index/neighbour.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace attune {
namespace {

float Logarithm(int64_t size) {
  return static_cast<float>(std::log2(static_cast<double>(std::max<int64_t>(size, 1))));
}

// One letter for each flag, so that families stay short.
char Flag(bool value, char letter) { return value ? letter : '-'; }

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

std::string Family(const Gemm& raw) {
  const Gemm gemm = Normalized(raw);
  return fmt::format(
      "gemm {}{} {} {} {} alpha={} beta={} bias={} act={} {} batch={} padded={} thin={}{}",
      Flag(gemm.trans_a == Transpose::kYes, 't'), Flag(gemm.trans_b == Transpose::kYes, 't'),
      Name(gemm.type), Name(gemm.c_type), Name(gemm.math), static_cast<int>(gemm.alpha),
      static_cast<int>(gemm.beta), static_cast<int>(gemm.bias), static_cast<int>(gemm.activation),
      Flag(gemm.deterministic, 'd'), BatchClass(gemm), PaddedOperands(gemm), Flag(gemm.m == 1, 'm'),
      Flag(gemm.n == 1, 'n'));
}

std::string SpatialText(const Spatial& values) {
  return fmt::format("{}x{}x{}", values[0], values[1], values[2]);
}

std::string Family(const Conv& conv) {
  const bool depthwise = conv.groups > 1 && conv.groups == conv.in_channels;
  return fmt::format("conv {} {} {}d {}/{}/{} {} {} {}{} f={} s={} d={} op={} {}{}{}",
                     Name(conv.direction), conv.mode == ConvMode::kTransposed ? "trans" : "conv",
                     conv.spatial_rank, Name(conv.in_layout), Name(conv.weights_layout),
                     Name(conv.out_layout), Name(conv.type), Name(conv.math), Flag(conv.bias, 'b'),
                     Flag(conv.deterministic, 'd'), SpatialText(conv.filter),
                     SpatialText(conv.stride), SpatialText(conv.dilation),
                     SpatialText(conv.output_pad), Flag(conv.pad != Spatial{0, 0, 0}, 'p'),
                     Flag(conv.groups > 1, 'g'), Flag(depthwise, 'w'));
}

Position Place(const Gemm& gemm) {
  return {Logarithm(gemm.m), Logarithm(gemm.n), Logarithm(gemm.k), Logarithm(gemm.batch_count)};
}

Position Place(const Conv& conv) {
  const int64_t groups = std::max<int64_t>(conv.groups, 1);
  return {Logarithm(conv.batch),
          Logarithm(conv.in_channels / groups),
          Logarithm(conv.out_channels / groups),
          Logarithm(groups),
          Logarithm(conv.in[0]),
          Logarithm(conv.in[1]),
          Logarithm(conv.in[2])};
}

}  // namespace

std::string FamilyOf(const Problem& problem) {
  if (const Gemm* gemm = std::get_if<Gemm>(&problem)) return Family(*gemm);
  if (const Conv* conv = std::get_if<Conv>(&problem)) return Family(*conv);
  return {};
}

Position PositionOf(const Problem& problem) {
  if (const Gemm* gemm = std::get_if<Gemm>(&problem)) return Place(*gemm);
  if (const Conv* conv = std::get_if<Conv>(&problem)) return Place(*conv);
  return {};
}

double Distance(const Position& a, const Position& b) {
  double sum = 0;
  for (size_t i = 0; i < kPositionSize; ++i) {
    const double difference = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    sum += difference * difference;
  }
  return std::sqrt(sum);
}

}  // namespace attune
