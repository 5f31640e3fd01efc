// Softmax of rows whose elements are neighbours. THREADS * CLUSTER threads compute a row, ROWS rows
// are a block. With KEEP > 0 a thread keeps its KEEP vectors in registers and reads them once; with
// KEEP = 0 it goes over the row twice, the first time for the maximum and the sum together, and
// keeps its first `kept_vectors` vectors in shared memory.
//
// ALIGNED = 0: rows begin anywhere. Their vectors begin at multiples of VEC_BYTES, so that the
// first and the last one may be incomplete.

#define ROW_WARPS ((THREADS + 31) / 32)
#define ROW_THREADS (THREADS * CLUSTER)
#define GROUP (KEEP > 0 ? KEEP : 4)  // Vectors of a thread that are read together.

struct Largest {
  __device__ __forceinline__ float operator()(float a, float b) const { return larger(a, b); }
};
struct Sum {
  __device__ __forceinline__ float operator()(float a, float b) const { return a + b; }
};

// Combines the values of the threads of a row in this block, for each of them. `shared` has room for
// one number of each warp.
template <class Combine>
__device__ __forceinline__ float over_block(float value, const Combine& combine, float* shared) {
#pragma unroll
  for (int distance = (THREADS < 32 ? THREADS : 32) / 2; distance > 0; distance /= 2) {
    value = combine(value, __shfl_xor_sync(0xffffffff, value, distance));
  }
#if ROW_WARPS > 1
  __syncthreads();
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = value;
  __syncthreads();
  value = shared[threadIdx.x % 32 % ROW_WARPS];
#pragma unroll
  for (int distance = ROW_WARPS / 2; distance > 0; distance /= 2) {
    value = combine(value, __shfl_xor_sync(0xffffffff, value, distance));
  }
#endif
  return value;
}

#if CLUSTER > 1
#define CLUSTER_SIZE __cluster_dims__(CLUSTER, 1, 1)

__device__ __forceinline__ void arrive_at_cluster() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
__device__ __forceinline__ void wait_for_cluster() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
__device__ __forceinline__ Powers powers_in_cluster(const Powers* own, int rank) {
  Powers powers;
  unsigned address = (unsigned)__cvta_generic_to_shared(own);
  asm("mapa.shared::cluster.u32 %0, %0, %1;" : "+r"(address) : "r"(rank));
  asm volatile("ld.shared::cluster.v2.f32 {%0, %1}, [%2];"
               : "=f"(powers.largest), "=f"(powers.sum)
               : "r"(address)
               : "memory");
  return powers;
}
#else
#define CLUSTER_SIZE
__device__ __forceinline__ void wait_for_cluster() {}
#endif

// Adds over the blocks of a row. One wait_for_cluster must follow before the block ends.
__device__ __forceinline__ Powers over_cluster(const Powers& powers) {
#if CLUSTER > 1
  __shared__ alignas(8) Powers own;
  if (threadIdx.x == 0) own = powers;
  arrive_at_cluster();
  wait_for_cluster();
  Powers all = powers_in_cluster(&own, 0);
#pragma unroll
  for (int rank = 1; rank < CLUSTER; ++rank) all = added(all, powers_in_cluster(&own, rank));
  arrive_at_cluster();
  return all;
#else
  return powers;
#endif
}

struct Row {
  const ELEMENT* first;   // x, or y in the backward pass.
  const ELEMENT* second;  // The mask, or dy.
  ELEMENT* out;
  int length;
  int visible;  // Elements from here on are masked.
  int skew;     // Elements of the first vector that are before the row.
  bool second_aligned;
  float scale;

  __device__ __forceinline__ int vectors() const { return (length + skew + VEC - 1) / VEC; }
  // The position of the first element of vector i; negative if it is before the row.
  __device__ __forceinline__ int position(int i) const { return i * VEC - skew; }
  __device__ __forceinline__ bool whole(int at) const {
    return (ALIGNED || at >= 0) && at + VEC <= length;
  }
  __device__ __forceinline__ bool has(int at) const { return at >= 0 && at < length; }
};

// Vectors thread, thread + ROW_THREADS, ... of a row from the `first` on. Elements that are not in
// the row are zero bits. The loads of whole vectors come first, so that they are all under way
// together.
__device__ __forceinline__ void load(const Row& row, const ELEMENT* from, int first, bool aligned,
                                     Pack (&packs)[GROUP]) {
#pragma unroll
  for (int k = 0; k < GROUP; ++k) {
    const int at = row.position(first + k * ROW_THREADS);
    packs[k].word = WORD();
    if (row.whole(at) && (ALIGNED || aligned)) {
      packs[k].word = HINTS ? __ldcs((const WORD*)(from + at)) : *(const WORD*)(from + at);
    }
  }
#if !ALIGNED
#pragma unroll
  for (int k = 0; k < GROUP; ++k) {
    const int at = row.position(first + k * ROW_THREADS);
    if (at >= row.length || (row.whole(at) && aligned)) continue;
#pragma unroll
    for (int v = 0; v < VEC; ++v) {
      if (row.has(at + v)) packs[k].elements[v] = from[at + v];
    }
  }
#endif
}

__device__ __forceinline__ void store(const Row& row, const float (&values)[VEC], int at) {
  const Pack pack = packed(values);
  if (row.whole(at)) {
    if (HINTS) {
      __stcs((WORD*)(row.out + at), pack.word);
    } else {
      *(WORD*)(row.out + at) = pack.word;
    }
  } else if (!ALIGNED) {
#pragma unroll
    for (int v = 0; v < VEC; ++v) {
      if (row.has(at + v)) row.out[at + v] = pack.elements[v];
    }
  }
}

// Shared memory for the first vectors of this thread. All vectors of a group are kept, or none.
struct Kept {
  WORD* words;
  int count;

  __device__ __forceinline__ bool has(int k) const { return k < count; }
  __device__ __forceinline__ void put(int k, const Pack (&packs)[GROUP]) const {
#pragma unroll
    for (int i = 0; i < GROUP; ++i) words[(k + i) * THREADS * ROWS] = packs[i].word;
  }
  __device__ __forceinline__ void get(int k, Pack (&packs)[GROUP]) const {
#pragma unroll
    for (int i = 0; i < GROUP; ++i) packs[i].word = words[(k + i) * THREADS * ROWS];
  }
};

// alpha x + mask; minus infinity outside of the row.
__device__ __forceinline__ void scale(const Row& row, int first, const Pack (&x)[GROUP],
                                      float (&z)[GROUP][VEC]) {
#if MASK == 2
  Pack mask[GROUP];
  load(row, row.second, first, row.second_aligned, mask);
#endif
#pragma unroll
  for (int k = 0; k < GROUP; ++k) {
    const int at = row.position(first + k * ROW_THREADS);
    const bool whole = row.whole(at);
#pragma unroll
    for (int v = 0; v < VEC; ++v) {
      z[k][v] = real_of(x[k].elements[v]) * row.scale;
#if MASK == 2
      z[k][v] += real_of(mask[k].elements[v]);
#elif MASK == 1
      if (at + v >= row.visible) z[k][v] = MINUS_INFINITY;
#endif
    }
    if (!whole) {
#pragma unroll
      for (int v = 0; v < VEC; ++v) {
        if (ALIGNED || !row.has(at + v)) z[k][v] = MINUS_INFINITY;
      }
    }
  }
}

__device__ __forceinline__ float largest_of(const float (&z)[GROUP][VEC], float largest) {
#pragma unroll
  for (int k = 0; k < GROUP; ++k) {
#pragma unroll
    for (int v = 0; v < VEC; ++v) largest = larger(largest, z[k][v]);
  }
  return largest;
}

struct Shares {
  float base;    // To subtract from z,
  float factor;  // and to multiply the power with; of a logarithm, to subtract, too.
};

// The shares of a row, from the maximum of each block and its sum relative to that.
__device__ __forceinline__ Shares shares_of(float largest, float sum) {
  const Powers all = over_cluster({largest, sum});
  const float base = base_of(all.largest);
  return {base, LOGARITHM ? logf(all.sum) : 1 / all.sum};
}

__device__ __forceinline__ float share_of(float z, const Shares& shares) {
  return LOGARITHM ? z - shares.base - shares.factor : power(z, shares.base) * shares.factor;
}

#if KEEP > 0
__device__ __forceinline__ void forward(const Row& row, int thread, const Kept&, float* shared) {
  Pack x[GROUP];
  float z[GROUP][VEC];
  load(row, row.first, thread, true, x);
  scale(row, thread, x, z);
  const float largest = over_block(largest_of(z, MINUS_INFINITY), Largest(), shared);
  const float base = base_of(largest);
  float sum = 0;
#pragma unroll
  for (int k = 0; k < GROUP; ++k) {
#pragma unroll
    for (int v = 0; v < VEC; ++v) {
      const float raised = power(z[k][v], base);
      if (!LOGARITHM) z[k][v] = raised;
      sum += raised;
    }
  }
  sum = over_block(sum, Sum(), shared);
  const Shares shares = shares_of(largest, sum);
  // The powers are relative to the maximum of the block.
  const float factor = CLUSTER > 1 ? power(base, shares.base) * shares.factor : shares.factor;
#pragma unroll
  for (int k = 0; k < GROUP; ++k) {
#pragma unroll
    for (int v = 0; v < VEC; ++v)
      z[k][v] = LOGARITHM ? share_of(z[k][v], shares) : z[k][v] * factor;
    store(row, z[k], row.position(thread + k * ROW_THREADS));
  }
}
#else
__device__ __forceinline__ void forward(const Row& row, int thread, const Kept& kept,
                                        float* shared) {
  const int vectors = row.vectors();
  Powers powers = {MINUS_INFINITY, 0};
  for (int i = thread, k = 0; i < vectors; i += GROUP * ROW_THREADS, k += GROUP) {
    Pack x[GROUP];
    float z[GROUP][VEC];
    load(row, row.first, i, true, x);
    if (kept.has(k)) kept.put(k, x);
    scale(row, i, x, z);
    const float largest = largest_of(z, powers.largest);
    const float base = base_of(largest);
    powers.sum *= power(powers.largest, base);
    powers.largest = largest;
#pragma unroll
    for (int k = 0; k < GROUP; ++k) {
#pragma unroll
      for (int v = 0; v < VEC; ++v) powers.sum += power(z[k][v], base);
    }
  }
  const float largest = over_block(powers.largest, Largest(), shared);
  const float sum = over_block(powers.sum * power(powers.largest, base_of(largest)), Sum(), shared);
  const Shares shares = shares_of(largest, sum);
  for (int i = thread, k = 0; i < vectors; i += GROUP * ROW_THREADS, k += GROUP) {
    Pack x[GROUP];
    float z[GROUP][VEC];
    if (kept.has(k)) {
      kept.get(k, x);
    } else {
      load(row, row.first, i, true, x);
    }
    scale(row, i, x, z);
#pragma unroll
    for (int g = 0; g < GROUP; ++g) {
#pragma unroll
      for (int v = 0; v < VEC; ++v) z[g][v] = share_of(z[g][v], shares);
      store(row, z[g], row.position(i + g * ROW_THREADS));
    }
  }
}
#endif

// Elements outside of the row are 0 and add nothing.
__device__ __forceinline__ float add_terms(const Pack (&y)[GROUP], const Pack (&dy)[GROUP],
                                           float sum) {
#pragma unroll
  for (int k = 0; k < GROUP; ++k) {
#pragma unroll
    for (int v = 0; v < VEC; ++v) {
      sum += LOGARITHM ? real_of(dy[k].elements[v])
                       : real_of(y[k].elements[v]) * real_of(dy[k].elements[v]);
    }
  }
  return sum;
}

__device__ __forceinline__ void store_gradients(const Row& row, const Pack (&y)[GROUP],
                                                const Pack (&dy)[GROUP], float sum, int first) {
#pragma unroll
  for (int k = 0; k < GROUP; ++k) {
    float dx[VEC];
#pragma unroll
    for (int v = 0; v < VEC; ++v) {
      const float of_y = real_of(y[k].elements[v]);
      const float of_dy = real_of(dy[k].elements[v]);
      dx[v] = row.scale * (LOGARITHM ? of_dy - power(of_y, 0) * sum : of_y * (of_dy - sum));
    }
    store(row, dx, row.position(first + k * ROW_THREADS));
  }
}

__device__ __forceinline__ void backward(const Row& row, int thread, const Kept& kept,
                                         float* shared) {
  const int vectors = row.vectors();
  const Kept kept_dy = {kept.words + kept.count * THREADS * ROWS, kept.count};
  Pack y[GROUP];
  Pack dy[GROUP];
  float sum = 0;
  for (int i = thread, k = 0; i < (KEEP > 0 ? thread + 1 : vectors);
       i += GROUP * ROW_THREADS, k += GROUP) {
    if (KEEP > 0 || !LOGARITHM || kept.has(k)) load(row, row.first, i, true, y);
    load(row, row.second, i, true, dy);
    if (KEEP == 0 && kept.has(k)) {
      kept.put(k, y);
      kept_dy.put(k, dy);
    }
    sum = add_terms(y, dy, sum);
  }
  // Sums relative to a maximum of 0 are plain sums.
  sum = over_cluster({0.0f, over_block(sum, Sum(), shared)}).sum;
#if KEEP > 0
  store_gradients(row, y, dy, sum, thread);
#else
  for (int i = thread, k = 0; i < vectors; i += GROUP * ROW_THREADS, k += GROUP) {
    if (kept.has(k)) {
      kept.get(k, y);
      kept_dy.get(k, dy);
    } else {
      load(row, row.first, i, true, y);
      load(row, row.second, i, true, dy);
    }
    store_gradients(row, y, dy, sum, i);
  }
#endif
}

extern "C" __global__ void CLUSTER_SIZE __launch_bounds__(THREADS* ROWS)
    softmax_rows(const ELEMENT* __restrict__ x, const ELEMENT* __restrict__ mask,
                 ELEMENT* __restrict__ y, const ELEMENT* __restrict__ dy, ELEMENT* __restrict__ dx,
                 int outer, int length, int queries, int kept_vectors, float alpha) {
  extern __shared__ uint4 dynamic_shared[];
  __shared__ float shared[ROWS][ROW_WARPS];
  const long long index = (long long)(blockIdx.x / CLUSTER) * ROWS + threadIdx.y;
  // Threads of a row that is not there go along, because others wait for them.
  const long long row_index = index < outer ? index : outer - 1;
  const long long offset = row_index * length;
  const int query = MASK ? (int)(row_index % queries) : 0;
  const int thread = blockIdx.x % CLUSTER * THREADS + threadIdx.x;
  const Kept kept = {(WORD*)dynamic_shared + threadIdx.y * THREADS + threadIdx.x, kept_vectors};
  Row row;
  row.length = length;
  row.visible = MASK == 1 ? query + 1 : length;
  row.scale = SCALED ? alpha : 1.0f;
  row.skew = ALIGNED ? 0 : (int)(offset % VEC);
#if BACKWARD
  row.first = y + offset;
  row.second = dy + offset;
  row.second_aligned = true;
  row.out = dx + offset;
  backward(row, thread, kept, shared[threadIdx.y]);
#else
  row.first = x + offset;
  row.second = MASK == 2 ? mask + (long long)query * length : mask;
  row.second_aligned = ALIGNED || MASK != 2 || (offset - (long long)query * length) % VEC == 0;
  row.out = y + offset;
  forward(row, thread, kept, shared[threadIdx.y]);
#endif
  // No block ends while others read its sums.
  wait_for_cluster();
}
