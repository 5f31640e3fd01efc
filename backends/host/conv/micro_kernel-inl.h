// The code of micro_kernel.h, once for each instruction set. A unit defines ATTUNE_MICRO_ISA (a
// namespace) and kVectorFloats and the largest tiles, includes this file, and is compiled for that
// instruction set. Nothing of the standard library is called: its inline functions would be emitted
// with that instruction set too, and the linker may pick them for the rest of the program.
#pragma once

#include "backends/host/conv/micro_kernel.h"

namespace attune::host::ATTUNE_MICRO_ISA {

using Vector [[gnu::vector_size(kVectorFloats * sizeof(float))]] = float;
using Quad [[gnu::vector_size(4 * sizeof(float))]] = float;
using QuadMask [[gnu::vector_size(4 * sizeof(float))]] = int;

template <class V>
[[gnu::always_inline]] inline V LoadAs(const float* at) {
  V value;
  __builtin_memcpy(&value, at, sizeof value);
  return value;
}

template <class V>
[[gnu::always_inline]] inline void StoreTo(float* at, V value) {
  __builtin_memcpy(at, &value, sizeof value);
}

template <int J, int V>
void Micro(const MicroCall& call) {
  constexpr int kLanes = V * kVectorFloats;
  Vector sums[J][V];
#pragma GCC unroll 28
  for (int j = 0; j < J; ++j) {
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) {
      sums[j][v] =
          call.accumulate ? LoadAs<Vector>(call.sums + j * kLanes + v * kVectorFloats) : Vector{};
    }
  }
  const float* w = call.w;
  const int64_t inner = call.inner;
  const int64_t x_step = call.x_step;
  for (int64_t a = 0; a < call.outer; ++a) {
    const float* x = call.x + call.x_offsets[a];
    for (int64_t b = 0; b < inner; ++b) {
      Vector weights[V];
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) weights[v] = LoadAs<Vector>(w + v * kVectorFloats);
#pragma GCC unroll 28
      for (int j = 0; j < J; ++j) {
        const Vector splat = x[j] - Vector{};  // x - 0 is x, 0 + x is not: it costs an addition.
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) sums[j][v] += splat * weights[v];
      }
      x += x_step;
      w += kLanes;
    }
  }
#pragma GCC unroll 28
  for (int j = 0; j < J; ++j) {
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) StoreTo(call.sums + j * kLanes + v * kVectorFloats, sums[j][v]);
  }
}

[[gnu::always_inline]] inline Quad Shuffled(Quad a, Quad b, QuadMask order) {
#if defined(__clang__)
  Quad result;
  for (int i = 0; i < 4; ++i) result[i] = order[i] < 4 ? a[order[i]] : b[order[i] - 4];
  return result;
#else
  return __builtin_shuffle(a, b, order);
#endif
}

// Four rows of four lanes, transposed in registers.
[[gnu::always_inline]] inline void StoreQuads(const StoreCall& call, int64_t row, int64_t lane) {
  const float* from = call.from + row * call.lanes + lane;
  const Quad r0 = LoadAs<Quad>(from);
  const Quad r1 = LoadAs<Quad>(from + call.lanes);
  const Quad r2 = LoadAs<Quad>(from + 2 * call.lanes);
  const Quad r3 = LoadAs<Quad>(from + 3 * call.lanes);
  const Quad low01 = Shuffled(r0, r1, QuadMask{0, 4, 1, 5});
  const Quad low23 = Shuffled(r2, r3, QuadMask{0, 4, 1, 5});
  const Quad high01 = Shuffled(r0, r1, QuadMask{2, 6, 3, 7});
  const Quad high23 = Shuffled(r2, r3, QuadMask{2, 6, 3, 7});
  const Quad columns[4] = {Shuffled(low01, low23, QuadMask{0, 1, 4, 5}),
                           Shuffled(low01, low23, QuadMask{2, 3, 6, 7}),
                           Shuffled(high01, high23, QuadMask{0, 1, 4, 5}),
                           Shuffled(high01, high23, QuadMask{2, 3, 6, 7})};
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    const Quad bias = (call.bias ? call.bias[lane + i] : 0.0f) - Quad{};
    StoreTo(call.to + (lane + i) * call.lane_stride + row, columns[i] + bias);
  }
}

inline void StoreScalars(const StoreCall& call, int64_t first_row, int64_t first_lane) {
  for (int64_t lane = first_lane; lane < call.used_lanes; ++lane) {
    const float bias = call.bias ? call.bias[lane] : 0.0f;
    float* to = call.to + lane * call.lane_stride;
    for (int64_t r = first_row; r < call.rows; ++r) {
      to[r * call.row_stride] = call.from[r * call.lanes + lane] + bias;
    }
  }
}

// Lanes are adjacent in memory: rows are copied as they are.
inline void StoreRows(const StoreCall& call) {
  for (int64_t r = 0; r < call.rows; ++r) {
    const float* from = call.from + r * call.lanes;
    float* to = call.to + r * call.row_stride;
    if (call.bias) {
      for (int64_t lane = 0; lane < call.used_lanes; ++lane)
        to[lane] = from[lane] + call.bias[lane];
    } else {
      for (int64_t lane = 0; lane < call.used_lanes; ++lane) to[lane] = from[lane];
    }
  }
}

inline void Store(const StoreCall& call) {
  if (call.lane_stride == 1) return StoreRows(call);
  if (call.row_stride != 1) return StoreScalars(call, 0, 0);
  const int64_t quad_rows = call.rows / 4 * 4;
  const int64_t quad_lanes = call.used_lanes / 4 * 4;
  for (int64_t lane = 0; lane < quad_lanes; lane += 4) {
    for (int64_t row = 0; row < quad_rows; row += 4) StoreQuads(call, row, lane);
  }
  StoreScalars(call, quad_rows, 0);
  StoreCall rest = call;
  rest.rows = quad_rows;
  StoreScalars(rest, 0, quad_lanes);
}

template <int V, int J>
constexpr void Register(MicroKernelSet& set) {
  if constexpr (J >= 1) {
    set.kernels[V - 1][J - 1] = &Micro<J, V>;
    Register<V, J - 1>(set);
  }
}

// A constant expression, because the processor may not run this level: no code of the level may
// fill in the set at run time.
constexpr MicroKernelSet MakeSet() {
  MicroKernelSet set;
  set.vector_floats = kVectorFloats;
  set.store = &Store;
  set.max_rows[1] = kMaxRows1;
  set.max_rows[2] = kMaxRows2;
  set.max_rows[3] = kMaxRows3;
  set.max_rows[4] = kMaxRows4;
  Register<1, kMaxRows1>(set);
  Register<2, kMaxRows2>(set);
  Register<3, kMaxRows3>(set);
  Register<4, kMaxRows4>(set);
  return set;
}

}  // namespace attune::host::ATTUNE_MICRO_ISA
