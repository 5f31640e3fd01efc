// The epilogue of a product, and the loops that the peak rates of a processor are measured with.
#pragma once

#include "backends/host/kernels/kernel_table.h"
#include "backends/host/kernels/vector-inl.h"

namespace attune::host {
namespace {

// In the order of attune::Activation; a unit cannot include its header, which defines functions.
enum ActivationCode { kCodeNone, kCodeRelu, kCodeGelu, kCodeTanh, kCodeSigmoid };

ATTUNE_INLINE float Exp(float x) { return __builtin_expf(x); }
ATTUNE_INLINE double Exp(double x) { return __builtin_exp(x); }
ATTUNE_INLINE float Tanh(float x) { return __builtin_tanhf(x); }
ATTUNE_INLINE double Tanh(double x) { return __builtin_tanh(x); }
ATTUNE_INLINE float Erf(float x) { return __builtin_erff(x); }
ATTUNE_INLINE double Erf(double x) { return __builtin_erf(x); }

template <class T>
void ActivateColumn(T* c, int64_t rows, int activation) {
  constexpr T kHalfSqrt2 = static_cast<T>(0.70710678118654752440);
  switch (activation) {
    case kCodeRelu:
      // Written so that a NaN stays one.
      for (int64_t i = 0; i < rows; ++i) c[i] = c[i] < 0 ? T{0} : c[i];
      return;
    case kCodeGelu:
      for (int64_t i = 0; i < rows; ++i) c[i] = c[i] * (T{1} + Erf(c[i] * kHalfSqrt2)) / 2;
      return;
    case kCodeTanh:
      for (int64_t i = 0; i < rows; ++i) c[i] = Tanh(c[i]);
      return;
    case kCodeSigmoid:
      for (int64_t i = 0; i < rows; ++i) c[i] = T{1} / (T{1} + Exp(-c[i]));
      return;
    default:
      return;
  }
}

template <class T>
void Epilogue(const EpilogueCall<T>& call) {
  for (int64_t j = 0; j < call.columns; ++j) {
    T* c = call.c + j * call.ldc;
    if (call.row_bias != nullptr) {
      for (int64_t i = 0; i < call.rows; ++i) c[i] += call.row_bias[i];
    }
    if (call.column_bias != nullptr) {
      const T bias = call.column_bias[j];
      for (int64_t i = 0; i < call.rows; ++i) c[i] += bias;
    }
    ActivateColumn(c, call.rows, call.activation);
  }
}

template <class T>
void Add(T* to, const T* from, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] += from[i];
}

// Ten chains are enough to hide the latency of two units, and fit sixteen registers.
template <class T>
double MultiplyAddInRegisters(int64_t rounds, T* sink) {
  using S = Simd<T>;
  constexpr int kChains = 10;
  typename S::Vector chains[kChains];
  for (int i = 0; i < kChains; ++i) chains[i] = S::Broadcast(static_cast<T>(i) + *sink);
  const typename S::Vector factor = S::Broadcast(static_cast<T>(0.999));
  const typename S::Vector addend = S::Broadcast(static_cast<T>(1e-3) + *sink);
  for (int64_t round = 0; round < rounds; ++round) {
    ATTUNE_UNROLL
    for (int i = 0; i < kChains; ++i) chains[i] = chains[i] * factor + addend;
  }
  for (int i = 1; i < kChains; ++i) chains[0] += chains[i];
  *sink = S::Sum(chains[0]);
  return 2.0 * kChains * S::kLanes * static_cast<double>(rounds);
}

void Triad(double* a, const double* b, const double* c, double factor, int64_t count) {
  for (int64_t i = 0; i < count; ++i) a[i] = b[i] + factor * c[i];
}

double SumOf(const double* a, int64_t count) {
  using S = Simd<double>;
  constexpr int kChains = 8;
  S::Vector sums[kChains] = {};
  int64_t i = 0;
  for (; i + kChains * S::kLanes <= count; i += kChains * S::kLanes) {
    ATTUNE_UNROLL
    for (int s = 0; s < kChains; ++s) sums[s] += S::Load(a + i + s * S::kLanes);
  }
  for (int s = 1; s < kChains; ++s) sums[0] += sums[s];
  double sum = S::Sum(sums[0]);
  for (; i < count; ++i) sum += a[i];
  return sum;
}

}  // namespace
}  // namespace attune::host
