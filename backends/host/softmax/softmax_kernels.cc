// Each level of the instruction set compiles the same loops: they are inlined into functions with a
// target, and the compiler vectorises them for it.
#include "backends/host/softmax/softmax_kernels.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "backends/host/stored_floats.h"

namespace attune::host::softmax {
namespace {

#define ATTUNE_INLINE [[gnu::always_inline]] inline

// A sum has this many lanes, because the compiler may not reorder the terms of one.
constexpr int kLanes = 32;
// Sums of this many terms are added to the total. A single sum of f32 stops growing at 2^24 equal
// terms.
constexpr int64_t kBlock = 4096;

// e^x within 2 units in the last place for x <= 0; NaN for NaN. Source of the polynomial: expf of
// the Cephes library (Moshier).
ATTUNE_INLINE float Exp(float x) {
  x = x < -104.0f ? -104.0f : x;
  const float shifted = x * 1.44269504f + 12582912.0f;
  const float n = shifted - 12582912.0f;
  float r = x - n * 0.693359375f;
  r -= n * -2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  // Two factors, because the whole power can be subnormal.
  const auto power = static_cast<int32_t>(std::bit_cast<uint32_t>(shifted) - 0x4b400000u);
  const int32_t half = power >> 1;
  const auto first = static_cast<uint32_t>(half + 127) << 23;
  const auto second = static_cast<uint32_t>(power - half + 127) << 23;
  return p * std::bit_cast<float>(first) * std::bit_cast<float>(second);
}

ATTUNE_INLINE float Larger(float a, float b) { return a > b ? a : b; }

// Calls body(i, lane) for each i. The compiler can compute lanes in parallel.
template <class Body>
ATTUNE_INLINE void ForEach(int64_t count, const Body& body) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) body(i + lane, lane);
  }
  for (int lane = 0; i < count; ++i, ++lane) body(i, lane);
}

template <class T>
struct Line {
  const typename T::Stored* x;
  const typename T::Stored* other;  // The mask, or dy.
  typename T::Stored* out;
};

template <class T>
ATTUNE_INLINE Line<T> LineOf(const LineCall& call, bool backward) {
  using Stored = typename T::Stored;
  return {static_cast<const Stored*>(call.x),
          static_cast<const Stored*>(backward ? call.dy : call.mask),
          static_cast<Stored*>(call.out)};
}

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

// One line of adjacent elements.
template <class T>
ATTUNE_INLINE void ForwardLine(const LineCall& call) {
  const Line<T> line = LineOf<T>(call, false);
  const float scale = call.scale;
  const auto z_at = [&](int64_t i) {
    const float z = scale * T::Load(line.x[i]);
    return line.other == nullptr ? z : z + T::Load(line.other[i]);
  };
  float lanes[kLanes];
  for (float& lane : lanes) lane = kMinusInfinity;
  if (line.other == nullptr) {
    ForEach(call.visible, [&](int64_t i, int lane) {
      lanes[lane] = Larger(scale * T::Load(line.x[i]), lanes[lane]);
    });
  } else {
    ForEach(call.visible, [&](int64_t i, int lane) { lanes[lane] = Larger(z_at(i), lanes[lane]); });
  }
  float largest = kMinusInfinity;
  for (const float lane : lanes) largest = Larger(lane, largest);
  for (float& lane : lanes) lane = 0;
  const bool keeps = call.keeps_exponentials && !call.logarithm;
  float* const kept = call.scratch;
  if (keeps) {
    ForEach(call.visible, [&](int64_t i, int lane) {
      kept[i] = Exp(z_at(i) - largest);
      lanes[lane] += kept[i];
    });
  } else {
    ForEach(call.visible, [&](int64_t i, int lane) { lanes[lane] += Exp(z_at(i) - largest); });
  }
  float sum = 0;
  for (const float lane : lanes) sum += lane;
  if (call.logarithm) {
    const float log_sum = std::log(sum);
    for (int64_t i = 0; i < call.visible; ++i) {
      line.out[i] = T::Store(z_at(i) - largest - log_sum);
    }
  } else if (keeps) {
    const float share = 1 / sum;
    for (int64_t i = 0; i < call.visible; ++i) line.out[i] = T::Store(kept[i] * share);
  } else {
    const float share = 1 / sum;
    for (int64_t i = 0; i < call.visible; ++i) {
      line.out[i] = T::Store(Exp(z_at(i) - largest) * share);
    }
  }
  const auto masked = T::Store(call.logarithm ? kMinusInfinity : sum != sum ? sum : 0.0f);
  for (int64_t i = call.visible; i < call.length; ++i) line.out[i] = masked;
}

// Neighbouring lines: a vector has one element of each.
template <class T>
ATTUNE_INLINE void ForwardLines(const LineCall& call) {
  const Line<T> line = LineOf<T>(call, false);
  const int64_t count = call.count;
  const float scale = call.scale;
  float largest[kMostLines];
  float sum[kMostLines];
  for (int64_t j = 0; j < count; ++j) {
    largest[j] = kMinusInfinity;
    sum[j] = 0;
  }
  for (int64_t i = 0; i < call.length; ++i) {
    const auto* const x = line.x + i * call.step;
    for (int64_t j = 0; j < count; ++j) largest[j] = Larger(scale * T::Load(x[j]), largest[j]);
  }
  const bool keeps = call.keeps_exponentials && !call.logarithm;
  for (int64_t begin = 0; begin < call.length; begin += kBlock) {
    float of_block[kMostLines] = {};
    for (int64_t i = begin; i < std::min(begin + kBlock, call.length); ++i) {
      const auto* const x = line.x + i * call.step;
      float* const kept = call.scratch + (keeps ? i * count : 0);
      for (int64_t j = 0; j < count; ++j) {
        const float exponential = Exp(scale * T::Load(x[j]) - largest[j]);
        of_block[j] += exponential;
        if (keeps) kept[j] = exponential;
      }
    }
    for (int64_t j = 0; j < count; ++j) sum[j] += of_block[j];
  }
  for (int64_t j = 0; j < count; ++j) sum[j] = call.logarithm ? std::log(sum[j]) : 1 / sum[j];
  for (int64_t i = 0; i < call.length; ++i) {
    const auto* const x = line.x + i * call.step;
    auto* const out = line.out + i * call.step;
    const float* const kept = call.scratch + (keeps ? i * count : 0);
    if (call.logarithm) {
      for (int64_t j = 0; j < count; ++j) {
        out[j] = T::Store(scale * T::Load(x[j]) - largest[j] - sum[j]);
      }
    } else if (keeps) {
      for (int64_t j = 0; j < count; ++j) out[j] = T::Store(kept[j] * sum[j]);
    } else {
      for (int64_t j = 0; j < count; ++j) {
        out[j] = T::Store(Exp(scale * T::Load(x[j]) - largest[j]) * sum[j]);
      }
    }
  }
}

template <class T>
ATTUNE_INLINE void BackwardLine(const LineCall& call) {
  const Line<T> line = LineOf<T>(call, true);
  const auto* const y = line.x;
  const auto* const dy = line.other;
  float lanes[kLanes] = {};
  if (call.logarithm) {
    ForEach(call.length, [&](int64_t i, int lane) { lanes[lane] += T::Load(dy[i]); });
  } else {
    ForEach(call.length,
            [&](int64_t i, int lane) { lanes[lane] += T::Load(y[i]) * T::Load(dy[i]); });
  }
  float sum = 0;
  for (const float lane : lanes) sum += lane;
  const float scale = call.scale;
  if (call.logarithm) {
    for (int64_t i = 0; i < call.length; ++i) {
      // A logarithm of a softmax is not positive. Other data can be, and Exp() takes no positive
      // argument.
      const float value = T::Load(y[i]);
      const float exponential = value > 0 ? 1 / Exp(-value) : Exp(value);
      line.out[i] = T::Store(scale * (T::Load(dy[i]) - exponential * sum));
    }
  } else {
    for (int64_t i = 0; i < call.length; ++i) {
      line.out[i] = T::Store(scale * T::Load(y[i]) * (T::Load(dy[i]) - sum));
    }
  }
}

template <class T>
ATTUNE_INLINE void BackwardLines(const LineCall& call) {
  const Line<T> line = LineOf<T>(call, true);
  const int64_t count = call.count;
  const float scale = call.scale;
  float sum[kMostLines];
  for (int64_t j = 0; j < count; ++j) sum[j] = 0;
  for (int64_t begin = 0; begin < call.length; begin += kBlock) {
    float of_block[kMostLines] = {};
    for (int64_t i = begin; i < std::min(begin + kBlock, call.length); ++i) {
      const auto* const y = line.x + i * call.step;
      const auto* const dy = line.other + i * call.step;
      for (int64_t j = 0; j < count; ++j) {
        of_block[j] += call.logarithm ? T::Load(dy[j]) : T::Load(y[j]) * T::Load(dy[j]);
      }
    }
    for (int64_t j = 0; j < count; ++j) sum[j] += of_block[j];
  }
  for (int64_t i = 0; i < call.length; ++i) {
    const auto* const y = line.x + i * call.step;
    const auto* const dy = line.other + i * call.step;
    auto* const out = line.out + i * call.step;
    if (call.logarithm) {
      for (int64_t j = 0; j < count; ++j) {
        const float value = T::Load(y[j]);
        const float exponential = value > 0 ? 1 / Exp(-value) : Exp(value);
        out[j] = T::Store(scale * (T::Load(dy[j]) - exponential * sum[j]));
      }
    } else {
      for (int64_t j = 0; j < count; ++j) {
        out[j] = T::Store(scale * T::Load(y[j]) * (T::Load(dy[j]) - sum[j]));
      }
    }
  }
}

template <class T>
ATTUNE_INLINE void Forward(const LineCall& call) {
  if (call.step == 1) return ForwardLine<T>(call);
  ForwardLines<T>(call);
}
template <class T>
ATTUNE_INLINE void Backward(const LineCall& call) {
  if (call.step == 1) return BackwardLine<T>(call);
  BackwardLines<T>(call);
}

struct Kernels {
  LineKernel of[3][2];  // By type and direction.
};

// The functions for one level. A template cannot have a target attribute as a parameter.
#define ATTUNE_LEVEL(NAMESPACE, TARGET)                                                     \
  namespace NAMESPACE {                                                                     \
  TARGET void ForwardF32(const LineCall& call) { Forward<F32>(call); }                      \
  TARGET void ForwardF16(const LineCall& call) { Forward<F16>(call); }                      \
  TARGET void ForwardBf16(const LineCall& call) { Forward<Bf16>(call); }                    \
  TARGET void BackwardF32(const LineCall& call) { Backward<F32>(call); }                    \
  TARGET void BackwardF16(const LineCall& call) { Backward<F16>(call); }                    \
  TARGET void BackwardBf16(const LineCall& call) { Backward<Bf16>(call); }                  \
  constexpr Kernels kKernels = {                                                            \
      {{ForwardF32, BackwardF32}, {ForwardF16, BackwardF16}, {ForwardBf16, BackwardBf16}}}; \
  }

ATTUNE_LEVEL(baseline, )
ATTUNE_LEVEL(v3, ATTUNE_TARGET_V3)
ATTUNE_LEVEL(v4, ATTUNE_TARGET_V4)

#undef ATTUNE_LEVEL
#undef ATTUNE_INLINE

}  // namespace

LineKernel KernelFor(IsaLevel level, DataType type, bool backward) {
  const Kernels& kernels = level == IsaLevel::kV4   ? v4::kKernels
                           : level == IsaLevel::kV3 ? v3::kKernels
                                                    : baseline::kKernels;
  const int row = type == DataType::kF32 ? 0 : type == DataType::kF16 ? 1 : 2;
  return kernels.of[row][backward ? 1 : 0];
}

}  // namespace attune::host::softmax
