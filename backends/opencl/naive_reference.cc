#include "backends/opencl/naive_reference.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "attune/ops/conv/conv.h"
#include "attune/ops/gemm/gemm.h"

namespace attune::opencl {
namespace {

double Activated(Activation activation, double x) {
  switch (activation) {
    case Activation::kNone:
      return x;
    case Activation::kRelu:
      return std::max(x, 0.0);
    case Activation::kGelu:
      return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
    case Activation::kTanh:
      return std::tanh(x);
    case Activation::kSigmoid:
      return 1 / (1 + std::exp(-x));
  }
  return x;
}

std::vector<double> NaiveGemm(const Gemm& gemm, const std::vector<std::vector<double>>& operands,
                              double alpha, double beta) {
  const auto at = [](const std::vector<double>& values, int64_t place) {
    return values[static_cast<size_t>(place)];
  };
  std::vector<double> c = operands.back();
  for (int64_t z = 0; z < gemm.batch_count; ++z) {
    for (int64_t i = 0; i < gemm.m; ++i) {
      for (int64_t j = 0; j < gemm.n; ++j) {
        double sum = 0;
        for (int64_t p = 0; p < gemm.k; ++p) {
          const bool ta = gemm.trans_a == Transpose::kYes;
          const bool tb = gemm.trans_b == Transpose::kYes;
          sum += at(operands[0], z * gemm.stride_a + (ta ? p + i * gemm.lda : i + p * gemm.lda)) *
                 at(operands[1], z * gemm.stride_b + (tb ? j + p * gemm.ldb : p + j * gemm.ldb));
        }
        double& out = c[static_cast<size_t>(z * gemm.stride_c + i + j * gemm.ldc)];
        double total = alpha * sum;
        if (gemm.beta != ScalarClass::kZero) total += beta * out;
        if (gemm.bias != Bias::kNone) total += at(operands[2], gemm.bias == Bias::kPerRow ? i : j);
        out = Activated(gemm.activation, total);
      }
    }
  }
  return c;
}

// A tensor by logical index: n, c, d, h, w; k, c, d, h, w for weights.
struct View {
  explicit View(const TensorDesc& tensor) {
    const size_t skipped = 5 - tensor.strides.size();
    for (size_t i = 0; i < tensor.strides.size(); ++i) {
      strides[i < 2 ? i : i + skipped] = tensor.strides[i];
    }
  }
  size_t Place(const std::array<int64_t, 5>& index) const {
    int64_t place = 0;
    for (size_t i = 0; i < 5; ++i) place += index[i] * strides[i];
    return static_cast<size_t>(place);
  }
  std::array<int64_t, 5> strides = {};
};

// Calls `visit` with the indices into x, w and y of every product of the convolution.
using Visit = std::function<void(const std::array<int64_t, 5>& x, const std::array<int64_t, 5>& w,
                                 const std::array<int64_t, 5>& y)>;

// One output pixel against one tap; nothing if it is in the padding.
void VisitTap(const Conv& conv, std::array<int64_t, 5> x, const std::array<int64_t, 5>& w,
              const std::array<int64_t, 5>& y, const Visit& visit) {
  for (size_t axis = 0; axis < 3; ++axis) {
    x[2 + axis] =
        y[2 + axis] * conv.stride[axis] - conv.pad[axis] + w[2 + axis] * conv.dilation[axis];
    if (x[2 + axis] < 0 || x[2 + axis] >= conv.in[axis]) return;
  }
  visit(x, w, y);
}

// Every index below `extents`, the last fastest.
void ForEachIndex(const std::array<int64_t, 5>& extents,
                  const std::function<void(const std::array<int64_t, 5>&)>& visit) {
  std::array<int64_t, 5> index = {};
  for (;;) {
    visit(index);
    size_t axis = 5;
    while (axis-- > 0) {
      if (++index[axis] < extents[axis]) break;
      index[axis] = 0;
      if (axis == 0) return;
    }
  }
}

void ForEachProduct(const Conv& conv, const Visit& visit) {
  const Spatial out = OutputExtent(conv);
  const int64_t in_group = conv.in_channels / conv.groups;
  const int64_t out_group = conv.out_channels / conv.groups;
  ForEachIndex({conv.batch, conv.out_channels, out[0], out[1], out[2]}, [&](const auto& y) {
    ForEachIndex({1, in_group, conv.filter[0], conv.filter[1], conv.filter[2]}, [&](auto w) {
      w[0] = y[1];
      VisitTap(conv, {y[0], y[1] / out_group * in_group + w[1], 0, 0, 0}, w, y, visit);
    });
  });
}

std::vector<double> NaiveConv(const Problem& problem, const Conv& conv,
                              const std::vector<std::vector<double>>& operands) {
  const std::vector<Operand> descriptions = Operands(problem);
  std::vector<double> result = operands.back();
  std::fill(result.begin(), result.end(), 0.0);
  const View first(descriptions[0].tensor);
  const View second(descriptions[1].tensor);
  const View last(descriptions.back().tensor);
  ForEachProduct(conv, [&](const auto& x, const auto& w, const auto& y) {
    switch (conv.direction) {
      case ConvDirection::kForward:
        result[last.Place(y)] += operands[0][first.Place(x)] * operands[1][second.Place(w)];
        break;
      case ConvDirection::kBackwardData:
        result[last.Place(x)] += operands[0][first.Place(y)] * operands[1][second.Place(w)];
        break;
      case ConvDirection::kBackwardWeights:
        result[last.Place(w)] += operands[0][first.Place(x)] * operands[1][second.Place(y)];
        break;
    }
  });
  if (!conv.bias || conv.direction != ConvDirection::kForward) return result;
  const Spatial out = OutputExtent(conv);
  ForEachIndex({conv.batch, conv.out_channels, out[0], out[1], out[2]}, [&](const auto& y) {
    result[last.Place(y)] += operands[2][static_cast<size_t>(y[1])];
  });
  return result;
}

}  // namespace

std::vector<double> NaiveResult(const Problem& problem,
                                const std::vector<std::vector<double>>& operands, double alpha,
                                double beta) {
  if (const Gemm* gemm = problem.As<Gemm>()) return NaiveGemm(*gemm, operands, alpha, beta);
  return NaiveConv(problem, problem.Get<Conv>(), operands);
}

}  // namespace attune::opencl
