// A matrix times a few vectors. The memory of the matrix limits the speed. So the number of streams
// that are read side by side matters, and the rest must stay in the first-level cache.
#pragma once

#include "backends/host/kernels/kernel_table.h"
#include "backends/host/kernels/vector-inl.h"

namespace attune::host {
namespace {

// The parts of a SkinnyCall that one group of at most four vectors works on, gathered.
template <class T>
struct SkinnyGroup {
  const T* x;  // Vector r at x + r * depth, multiplied by alpha.
  T* y;        // Vector r at y + r * rows; sums so far.
  int64_t rows, depth;
  const T* matrix;
  int64_t ld;
  int64_t prefetch;  // In elements.
};

template <class T>
ATTUNE_INLINE void PrefetchAhead(const SkinnyGroup<T>& group, const T* at) {
  if (group.prefetch != 0) __builtin_prefetch(at + group.prefetch);
}

// y += M x over rows [begin, end) and stored columns [p, p + kStreams).
template <class T, int kStreams, int kCount>
void AddColumns(const SkinnyGroup<T>& group, int64_t begin, int64_t end, int64_t p) {
  using S = Simd<T>;
  const T* columns[kStreams];
  T factors[kStreams][kCount];
  for (int s = 0; s < kStreams; ++s) {
    columns[s] = group.matrix + (p + s) * group.ld;
    for (int r = 0; r < kCount; ++r) factors[s][r] = group.x[r * group.depth + p + s];
  }
  int64_t i = begin;
  for (; i + S::kLanes <= end; i += S::kLanes) {
    typename S::Vector sums[kCount];
    ATTUNE_UNROLL
    for (int r = 0; r < kCount; ++r) sums[r] = S::Load(group.y + r * group.rows + i);
    ATTUNE_UNROLL
    for (int s = 0; s < kStreams; ++s) {
      PrefetchAhead(group, columns[s] + i);
      const typename S::Vector column = S::Load(columns[s] + i);
      ATTUNE_UNROLL
      for (int r = 0; r < kCount; ++r) sums[r] += column * factors[s][r];
    }
    ATTUNE_UNROLL
    for (int r = 0; r < kCount; ++r) S::Store(group.y + r * group.rows + i, sums[r]);
  }
  for (; i < end; ++i) {
    for (int r = 0; r < kCount; ++r) {
      T sum = group.y[r * group.rows + i];
      for (int s = 0; s < kStreams; ++s) sum += columns[s][i] * factors[s][r];
      group.y[r * group.rows + i] = sum;
    }
  }
}

// y += M^T x for stored columns [i, i + kStreams) over the reduction [begin, end).
template <class T, int kStreams, int kCount>
void AddDots(const SkinnyGroup<T>& group, int64_t begin, int64_t end, int64_t i) {
  using S = Simd<T>;
  const T* columns[kStreams];
  for (int s = 0; s < kStreams; ++s) columns[s] = group.matrix + (i + s) * group.ld;
  typename S::Vector sums[kStreams][kCount] = {};
  int64_t p = begin;
  for (; p + S::kLanes <= end; p += S::kLanes) {
    typename S::Vector x[kCount];
    ATTUNE_UNROLL
    for (int r = 0; r < kCount; ++r) x[r] = S::Load(group.x + r * group.depth + p);
    ATTUNE_UNROLL
    for (int s = 0; s < kStreams; ++s) {
      PrefetchAhead(group, columns[s] + p);
      const typename S::Vector column = S::Load(columns[s] + p);
      ATTUNE_UNROLL
      for (int r = 0; r < kCount; ++r) sums[s][r] += column * x[r];
    }
  }
  for (int s = 0; s < kStreams; ++s) {
    for (int r = 0; r < kCount; ++r) {
      T sum = S::Sum(sums[s][r]);
      for (int64_t q = p; q < end; ++q) sum += columns[s][q] * group.x[r * group.depth + q];
      group.y[r * group.rows + i + s] += sum;
    }
  }
}

template <class T, int kStreams, int kCount>
void SkinnyColumns(const SkinnyGroup<T>& group, int64_t block) {
  for (int64_t begin = 0; begin < group.rows; begin += block) {
    const int64_t end = Least(group.rows, begin + block);
    int64_t p = 0;
    for (; p + kStreams <= group.depth; p += kStreams) {
      AddColumns<T, kStreams, kCount>(group, begin, end, p);
    }
    for (; p < group.depth; ++p) AddColumns<T, 1, kCount>(group, begin, end, p);
  }
}

template <class T, int kStreams, int kCount>
void SkinnyDots(const SkinnyGroup<T>& group, int64_t block) {
  for (int64_t begin = 0; begin < group.depth; begin += block) {
    const int64_t end = Least(group.depth, begin + block);
    int64_t i = 0;
    for (; i + kStreams <= group.rows; i += kStreams) {
      AddDots<T, kStreams, kCount>(group, begin, end, i);
    }
    for (; i < group.rows; ++i) AddDots<T, 1, kCount>(group, begin, end, i);
  }
}

template <class T, int kCount>
void MultiplyGroup(const SkinnyGroup<T>& group, const SkinnyCall<T>& call) {
  const auto choose = [&](auto* one, auto* two, auto* four, auto* eight) {
    return call.streams == 1 ? one : call.streams == 2 ? two : call.streams == 4 ? four : eight;
  };
  if (call.transpose) {
    choose(&SkinnyDots<T, 1, kCount>, &SkinnyDots<T, 2, kCount>, &SkinnyDots<T, 4, kCount>,
           &SkinnyDots<T, 8, kCount>)(group, call.block);
  } else {
    choose(&SkinnyColumns<T, 1, kCount>, &SkinnyColumns<T, 2, kCount>, &SkinnyColumns<T, 4, kCount>,
           &SkinnyColumns<T, 8, kCount>)(group, call.block);
  }
}

template <class T>
void GatherVectors(const SkinnyCall<T>& call, int64_t first, int64_t count, T* x, T* y) {
  for (int64_t r = 0; r < count; ++r) {
    const T* from = call.x + (first + r) * call.x_next;
    for (int64_t p = 0; p < call.depth; ++p)
      x[r * call.depth + p] = call.alpha * from[p * call.x_step];
    for (int64_t i = 0; i < call.rows; ++i) y[r * call.rows + i] = 0;
  }
}

template <class T>
void ScatterResults(const SkinnyCall<T>& call, int64_t first, int64_t count, const T* y) {
  for (int64_t r = 0; r < count; ++r) {
    T* to = call.y + (first + r) * call.y_next;
    const T* from = y + r * call.rows;
    if (call.beta == 0) {
      for (int64_t i = 0; i < call.rows; ++i) to[i * call.y_step] = from[i];
    } else {
      for (int64_t i = 0; i < call.rows; ++i) {
        to[i * call.y_step] = from[i] + call.beta * to[i * call.y_step];
      }
    }
  }
}

template <class T>
void Skinny(const SkinnyCall<T>& call) {
  T* x = call.scratch;
  for (int64_t first = 0; first < call.count;) {
    const int64_t left = call.count - first;
    const int64_t count = left >= 4 ? 4 : left >= 2 ? 2 : 1;
    T* y = call.scratch + (call.depth * count + 15) / 16 * 16;
    GatherVectors(call, first, count, x, y);
    const SkinnyGroup<T> group{x,
                               y,
                               call.rows,
                               call.depth,
                               call.matrix,
                               call.ld,
                               call.prefetch_bytes / static_cast<int64_t>(sizeof(T))};
    if (count == 4) {
      MultiplyGroup<T, 4>(group, call);
    } else if (count == 2) {
      MultiplyGroup<T, 2>(group, call);
    } else {
      MultiplyGroup<T, 1>(group, call);
    }
    ScatterResults(call, first, count, y);
    first += count;
  }
}

}  // namespace
}  // namespace attune::host
