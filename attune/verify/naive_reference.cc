#include "attune/verify/naive_reference.h"

#include <cmath>
#include <limits>

#include "attune/ops/conv/conv.h"
#include "attune/ops/gemm/gemm.h"

namespace attune {
namespace {

int64_t At(const TensorDesc& tensor, std::initializer_list<int64_t> position) {
  int64_t offset = 0;
  size_t i = 0;
  // The depth of a position is left out in 2-D.
  const size_t skip = position.size() - tensor.strides.size();
  for (const int64_t index : position) {
    const bool depth = skip == 1 && i == 2;
    if (!depth) offset += index * tensor.strides[i > 2 ? i - skip : i];
    ++i;
  }
  return offset;
}

}  // namespace

std::vector<double> NaiveGemm(const Gemm& gemm, std::span<const OperandValues> inputs, double alpha,
                              double beta) {
  const std::vector<Operand> operands = Operands(Problem(gemm));
  std::vector<double> c(static_cast<size_t>(SpanElements(operands.back().tensor)),
                        std::numeric_limits<double>::quiet_NaN());
  for (int64_t batch = 0; batch < gemm.batch_count; ++batch) {
    for (int64_t i = 0; i < gemm.m; ++i) {
      for (int64_t j = 0; j < gemm.n; ++j) {
        long double sum = 0;
        for (int64_t l = 0; l < gemm.k; ++l) {
          const int64_t a = gemm.trans_a == Transpose::kNo ? i + l * gemm.lda : l + i * gemm.lda;
          const int64_t b = gemm.trans_b == Transpose::kNo ? l + j * gemm.ldb : j + l * gemm.ldb;
          sum +=
              static_cast<long double>(inputs[0][static_cast<size_t>(batch * gemm.stride_a + a)]) *
              inputs[1][static_cast<size_t>(batch * gemm.stride_b + b)];
        }
        const auto at = static_cast<size_t>(batch * gemm.stride_c + i + j * gemm.ldc);
        double value = alpha * static_cast<double>(sum);
        if (gemm.beta != ScalarClass::kZero) value += beta * inputs.back()[at];
        if (gemm.bias == Bias::kPerRow) value += inputs[2][static_cast<size_t>(i)];
        if (gemm.bias == Bias::kPerColumn) value += inputs[2][static_cast<size_t>(j)];
        if (gemm.activation == Activation::kRelu) value = std::fmax(value, 0);
        if (gemm.activation == Activation::kGelu) {
          value = value / 2 * (1 + std::erf(value / std::sqrt(2.0)));
        }
        if (gemm.activation == Activation::kTanh) value = std::tanh(value);
        if (gemm.activation == Activation::kSigmoid) value = 1 / (1 + std::exp(-value));
        c[at] = value;
      }
    }
  }
  return c;
}

// Scatters or gathers over every (image, group, channels, output position of the plain relation,
// tap).
std::vector<double> NaiveConv(const Conv& conv, std::span<const OperandValues> inputs) {
  const std::vector<Operand> operands = Operands(Problem(conv));
  std::vector<double> result(static_cast<size_t>(SpanElements(operands.back().tensor)), 0.0);
  const bool transposed = conv.mode == ConvMode::kTransposed;
  const Spatial out = OutputExtent(conv);
  const Spatial windows = transposed ? conv.in : out;
  const Spatial image = transposed ? out : conv.in;
  const int64_t ins = conv.in_channels / conv.groups;
  const int64_t outs = conv.out_channels / conv.groups;
  const auto visit = [&](int64_t n, int64_t g, int64_t ci, int64_t co, const Spatial& q,
                         const Spatial& f) {
    Spatial p;
    for (size_t i = 0; i < 3; ++i) {
      p[i] = q[i] * conv.stride[i] - conv.pad[i] + f[i] * conv.dilation[i];
      if (p[i] < 0 || p[i] >= image[i]) return;
    }
    const Spatial& x_at = transposed ? q : p;
    const Spatial& y_at = transposed ? p : q;
    const int64_t outer = transposed ? g * ins + ci : g * outs + co;
    const int64_t inner = transposed ? co : ci;
    const auto offset = [&](const TensorDesc& tensor, char kind) {
      if (kind == 'x') return At(tensor, {n, g * ins + ci, x_at[0], x_at[1], x_at[2]});
      if (kind == 'y') return At(tensor, {n, g * outs + co, y_at[0], y_at[1], y_at[2]});
      return At(tensor, {outer, inner, f[0], f[1], f[2]});
    };
    const char* kinds = conv.direction == ConvDirection::kForward        ? "xwy"
                        : conv.direction == ConvDirection::kBackwardData ? "ywx"
                                                                         : "xyw";
    result[static_cast<size_t>(offset(operands.back().tensor, kinds[2]))] +=
        inputs[0][static_cast<size_t>(offset(operands[0].tensor, kinds[0]))] *
        inputs[1][static_cast<size_t>(offset(operands[1].tensor, kinds[1]))];
  };
  const auto each = [](const Spatial& extents, const auto& function) {
    for (int64_t d = 0; d < extents[0]; ++d) {
      for (int64_t h = 0; h < extents[1]; ++h) {
        for (int64_t w = 0; w < extents[2]; ++w) function(Spatial{d, h, w});
      }
    }
  };
  for (int64_t n = 0; n < conv.batch; ++n) {
    for (int64_t channel = 0; channel < conv.groups * ins * outs; ++channel) {
      each(windows, [&](const Spatial& q) {
        each(conv.filter, [&](const Spatial& f) {
          visit(n, channel / (ins * outs), channel % ins, channel / ins % outs, q, f);
        });
      });
    }
  }
  if (conv.bias) {
    each(out, [&](const Spatial& at) {
      for (int64_t n = 0; n < conv.batch; ++n) {
        for (int64_t c = 0; c < conv.out_channels; ++c) {
          result[static_cast<size_t>(At(operands.back().tensor, {n, c, at[0], at[1], at[2]}))] +=
              inputs[2][static_cast<size_t>(c)];
        }
      }
    });
  }
  return result;
}

}  // namespace attune
