// Softmax along an axis whose elements are `inner` apart. A thread computes VEC neighbouring
// columns; TX threads of a block are side by side, TY share the columns. With KEEP > 0 a thread
// keeps its elements in registers and reads them once.

#define THREADS (TX * TY)

struct Columns {
  long long offset;  // The first element of this thread.
  long long step;
  int count;
};

// Adds over the threads of each of VEC columns. All of them get the sum.
__device__ __forceinline__ void add_over_block(Powers (&powers)[VEC]) {
#if TY > 1
  __shared__ Powers shared[TY][TX * VEC];
  const int tx = threadIdx.x % TX;
  const int ty = threadIdx.x / TX;
#pragma unroll
  for (int v = 0; v < VEC; ++v) shared[ty][v * TX + tx] = powers[v];
#pragma unroll
  for (int distance = TY / 2; distance > 0; distance /= 2) {
    __syncthreads();
    for (int i = threadIdx.x; i < distance * TX * VEC; i += THREADS) {
      const int row = i / (TX * VEC);
      const int column = i % (TX * VEC);
      shared[row][column] = added(shared[row][column], shared[row + distance][column]);
    }
  }
  __syncthreads();
#pragma unroll
  for (int v = 0; v < VEC; ++v) powers[v] = shared[0][v * TX + tx];
#endif
}

__device__ __forceinline__ Pack load(const ELEMENT* from) {
  Pack pack;
  pack.word = *(const WORD*)from;
  return pack;
}

__device__ __forceinline__ void store(const float (&values)[VEC], ELEMENT* to) {
  *(WORD*)to = packed(values).word;
}

// Goes over the elements of a thread: use(k, pack) of load(offset), k < KEEP if KEEP > 0.
template <class Loaded, class Load, class Use>
__device__ __forceinline__ void visit(const Columns& columns, const Load& load, const Use& use) {
#if KEEP > 0
  Loaded loaded[KEEP];
#pragma unroll
  for (int k = 0; k < KEEP; ++k) {
    if (k < columns.count) loaded[k] = load(k, columns.offset + k * columns.step);
  }
#pragma unroll
  for (int k = 0; k < KEEP; ++k) {
    if (k < columns.count) use(k, columns.offset + k * columns.step, loaded[k]);
  }
#else
#pragma unroll 4
  for (int k = 0; k < columns.count; ++k) {
    const long long offset = columns.offset + k * columns.step;
    use(k, offset, load(k, offset));
  }
#endif
}

struct Gradients {
  Pack y;
  Pack dy;
};

// The columns of this thread.
__device__ __forceinline__ Columns columns_of_thread(int length, int inner) {
  const int groups = (inner + TX * VEC - 1) / (TX * VEC);
  const int column = (int)(blockIdx.x % groups) * TX * VEC + threadIdx.x % TX * VEC;
  const int ty = threadIdx.x / TX;
  Columns columns;
  columns.offset = ((long long)(blockIdx.x / groups) * length + ty) * inner + column;
  columns.step = (long long)TY * inner;
  columns.count = column < inner && ty < length ? (length - ty + TY - 1) / TY : 0;
  return columns;
}

#if BACKWARD
extern "C" __global__ void __launch_bounds__(TX* TY)
    softmax_columns(const ELEMENT* __restrict__ x, ELEMENT* __restrict__ y,
                    const ELEMENT* __restrict__ dy, ELEMENT* __restrict__ dx, int length, int inner,
                    float alpha) {
  const Columns columns = columns_of_thread(length, inner);
  const float scale = SCALED ? alpha : 1.0f;
  Powers sums[VEC] = {};
#if KEEP > 0
  Gradients kept[KEEP];
#endif
  visit<Gradients>(
      columns,
      [&](int, long long offset) {
        const Pack of_dy = load(dy + offset);
        return Gradients{LOGARITHM && KEEP == 0 ? of_dy : load(y + offset), of_dy};
      },
      [&](int k, long long, const Gradients& g) {
#if KEEP > 0
        kept[k] = g;
#endif
#pragma unroll
        for (int v = 0; v < VEC; ++v) {
          sums[v].sum += LOGARITHM ? real_of(g.dy.elements[v])
                                   : real_of(g.y.elements[v]) * real_of(g.dy.elements[v]);
        }
      });
  add_over_block(sums);
  visit<Gradients>(
      columns,
      [&](int k, long long offset) {
#if KEEP > 0
        return kept[k];
#else
        return Gradients{load(y + offset), load(dy + offset)};
#endif
      },
      [&](int, long long offset, const Gradients& g) {
        float result[VEC];
#pragma unroll
        for (int v = 0; v < VEC; ++v) {
          const float of_y = real_of(g.y.elements[v]);
          const float of_dy = real_of(g.dy.elements[v]);
          result[v] = scale * (LOGARITHM ? of_dy - power(of_y, 0) * sums[v].sum
                                         : of_y * (of_dy - sums[v].sum));
        }
        store(result, dx + offset);
      });
}
#else
extern "C" __global__ void __launch_bounds__(TX* TY)
    softmax_columns(const ELEMENT* __restrict__ x, ELEMENT* __restrict__ y,
                    const ELEMENT* __restrict__ dy, ELEMENT* __restrict__ dx, int length, int inner,
                    float alpha) {
  const Columns columns = columns_of_thread(length, inner);
  const float scale = SCALED ? alpha : 1.0f;
  Powers powers[VEC];
#pragma unroll
  for (int v = 0; v < VEC; ++v) powers[v] = {MINUS_INFINITY, 0};
#if KEEP > 0
  Pack kept[KEEP];
#endif
  visit<Pack>(
      columns, [&](int, long long offset) { return load(x + offset); },
      [&](int k, long long, const Pack& pack) {
#if KEEP > 0
        kept[k] = pack;
#endif
#pragma unroll
        for (int v = 0; v < VEC; ++v) {
          const float z = real_of(pack.elements[v]) * scale;
          const float largest = larger(powers[v].largest, z);
          const float base = base_of(largest);
          powers[v].sum = powers[v].sum * power(powers[v].largest, base) + power(z, base);
          powers[v].largest = largest;
        }
      });
  add_over_block(powers);
  float base[VEC];
  float factor[VEC];
#pragma unroll
  for (int v = 0; v < VEC; ++v) {
    base[v] = base_of(powers[v].largest);
    factor[v] = LOGARITHM ? logf(powers[v].sum) : 1 / powers[v].sum;
  }
  visit<Pack>(
      columns,
      [&](int k, long long offset) {
#if KEEP > 0
        return kept[k];
#else
        return load(x + offset);
#endif
      },
      [&](int, long long offset, const Pack& pack) {
        float result[VEC];
#pragma unroll
        for (int v = 0; v < VEC; ++v) {
          const float z = real_of(pack.elements[v]) * scale;
          result[v] = LOGARITHM ? z - base[v] - factor[v] : power(z, base[v]) * factor[v];
        }
        store(result, y + offset);
      });
}
#endif
