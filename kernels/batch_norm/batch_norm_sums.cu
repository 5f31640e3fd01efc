// Sums and statistics of the values of a channel, over a block, a cluster or the workspace.

struct Shared {
#if FORM == 2
  float partial[2][TY][TX * VEC];
#else
  float partial[2][WARPS][2 * BLOCK_CHANNELS];
#endif
  float totals[2][2 * BLOCK_CHANNELS];
  float2 statistics[BLOCK_CHANNELS];  // The statistics of this block, for the cluster.
  float2 sums[BLOCK_CHANNELS];
};

template <int kBuffer, int kCount>
__device__ __forceinline__ void read_totals(float (&values)[kCount][LANES], const Share& share,
                                            const Shared& shared) {
#pragma unroll
  for (int k = 0; k < kCount; ++k) {
#pragma unroll
    for (int l = 0; l < LANES; ++l) {
      values[k][l] = shared.totals[kBuffer][k * BLOCK_CHANNELS + share.local_channel(l)];
    }
  }
}

// Sums over the values of a channel in this block, in a fixed order, for every thread. Calls
// alternate between buffers 0 and 1.
#if FORM == 2
template <int kBuffer, int kCount>
__device__ __forceinline__ void add_over_block(float (&values)[kCount][LANES], const Share& share,
                                               Shared& shared) {
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  __syncthreads();
#pragma unroll
  for (int k = 0; k < kCount; ++k) {
#pragma unroll
    for (int l = 0; l < LANES; ++l) shared.partial[k][share.ty][share.tx * VEC + l] = values[k][l];
  }
  __syncthreads();
  for (int i = warp; i < kCount * BLOCK_CHANNELS; i += WARPS) {
    const int k = i / BLOCK_CHANNELS;
    const int first = i % BLOCK_CHANNELS * share.tensor.inner;
    float sum = 0;
    for (int j = first + lane; j < first + share.tensor.inner && j < TX * VEC; j += 32) {
#pragma unroll
      for (int ty = 0; ty < TY; ++ty) sum += shared.partial[k][ty][j];
    }
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2)
      sum += __shfl_xor_sync(0xffffffff, sum, distance);
    if (lane == 0) shared.totals[kBuffer][i] = sum;
  }
  __syncthreads();
  read_totals<kBuffer>(values, share, shared);
}
#else
template <int kBuffer, int kCount>
__device__ __forceinline__ void add_over_block(float (&values)[kCount][LANES], const Share& share,
                                               Shared& shared) {
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int distance = 16; distance >= TX; distance /= 2) {
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
#pragma unroll
      for (int l = 0; l < LANES; ++l)
        values[k][l] += __shfl_xor_sync(0xffffffff, values[k][l], distance);
    }
  }
  if (lane < TX) {
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
#pragma unroll
      for (int l = 0; l < LANES; ++l) {
        shared.partial[kBuffer][warp][k * BLOCK_CHANNELS + share.tx * LANES + l] = values[k][l];
      }
    }
  }
  __syncthreads();
#if FORM == 0
#pragma unroll
  for (int k = 0; k < kCount; ++k) {
    float sum = lane < WARPS ? shared.partial[kBuffer][lane][k] : 0.0f;
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2)
      sum += __shfl_xor_sync(0xffffffff, sum, distance);
    values[k][0] = sum;
  }
#else
  for (int i = threadIdx.x; i < kCount * BLOCK_CHANNELS; i += THREADS) {
    float sum = 0;
#pragma unroll
    for (int w = 0; w < WARPS; ++w) sum += shared.partial[kBuffer][w][i];
    shared.totals[kBuffer][i] = sum;
  }
  __syncthreads();
  read_totals<kBuffer>(values, share, shared);
#endif
}
#endif

__device__ __forceinline__ bool finite(float value) {
  return fabsf(value) < __int_as_float(0x7f800000);
}

// `squares` - `moved`, at least 0. Squares that overflowed stay infinite, as values near 1e30 have
// them, and do not become NaN.
__device__ __forceinline__ float squares_without(float squares, float moved) {
  if (!finite(squares)) return squares;
  return fmaxf(squares - moved, 0.0f);
}

struct Statistics {
  float mean[LANES];
  float squares[LANES];  // The sum of squared deviations from the mean.
};

// Merges samples by Chan's rule. terms(f) calls f(l, n, offset, squares) for each sample of the
// thread: n values with the mean origin + offset and these squares of deviations. An infinite value
// makes the mean infinite, not NaN.
template <class Terms>
__device__ __forceinline__ Statistics merged(const Terms& terms, float values,
                                             const float (&origin)[LANES], const Share& share,
                                             Shared& shared) {
  const float of_values = 1 / values;
  float means[1][LANES] = {};
  terms([&](int l, float n, float offset, float) { means[0][l] += n * offset; });
  add_over_block<0>(means, share, shared);
  float squares[1][LANES] = {};
#pragma unroll
  for (int l = 0; l < LANES; ++l) means[0][l] *= of_values;
  terms([&](int l, float n, float offset, float own) {
    const float deviation = offset - means[0][l];
    squares[0][l] += own + n * deviation * deviation;
  });
  add_over_block<1>(squares, share, shared);
  Statistics statistics;
#pragma unroll
  for (int l = 0; l < LANES; ++l) {
    statistics.mean[l] = origin[l] + means[0][l];
    statistics.squares[l] = squares[0][l];
  }
  return statistics;
}

// The sample of one thread.
struct OwnTerms {
  float n;
  float offset[LANES];
  float squares[LANES];

  template <class F>
  __device__ __forceinline__ void operator()(const F& f) const {
    if (n == 0) return;
#pragma unroll
    for (int l = 0; l < LANES; ++l) f(l, n, offset[l], squares[l]);
  }
};

// Moves the value that a thread subtracts to the mean of the n vectors that it has read.
__device__ __forceinline__ void move_shift(float n, float (&shift)[LANES], float (&sums)[VEC],
                                           float (&squares)[VEC]) {
#pragma unroll
  for (int l = 0; l < LANES; ++l) {
    float sum = sums[l];
    float size = fabsf(sum);
    if (FORM == 0) {
#pragma unroll
      for (int i = 1; i < VEC; ++i) {
        sum += sums[i];
        size += fabsf(sums[i]);
      }
    }
    const float moved = shift[l] + __fdividef(sum, FORM == 0 ? n * VEC : n);
    // Where products overflow, squares have overflowed, and would become NaN.
    const bool fits = finite(moved) && finite(2 * (moved - shift[l]) * size);
    const float by = fits ? moved - shift[l] : 0.0f;
    shift[l] += by;
#pragma unroll
    for (int i = 0; i < VEC; ++i) {
      if (LANE(i) != l) continue;
      squares[i] = squares[i] - 2 * by * sums[i] + n * by * by;
      sums[i] -= n * by;
    }
  }
}

// The statistics of a thread's values. It adds deviations from a value near the mean of what it has
// read, at first from its first value, so outliers and large means cost no accuracy.
struct Deviations {
  float shift[LANES] = {};
  float sums[VEC] = {};
  float squares[VEC] = {};
  int next_move = UNROLL;

  __device__ __forceinline__ void start(const Pack& first_vector) {
#pragma unroll
    for (int l = 0; l < LANES; ++l) {
      const float first = real_of(first_vector.elements[l]);
      shift[l] = finite(first) ? first : 0.0f;
    }
  }
  __device__ __forceinline__ void add(const Pack& pack) {
#pragma unroll
    for (int i = 0; i < VEC; ++i) {
      const float deviation = real_of(pack.elements[i]) - shift[LANE(i)];
      sums[i] += deviation;
      squares[i] += deviation * deviation;
    }
  }
  // Behind each group, when `done` vectors of `count` are added.
  __device__ __forceinline__ void added(int done, int count) {
    if (done < next_move || done >= count) return;
    next_move *= 4;
    move_shift((float)done, shift, sums, squares);
  }
  // The statistics of the block. `origin` is near the mean of its part.
  __device__ __forceinline__ Statistics of_part(const Share& share, const float (&origin)[LANES],
                                                Shared& shared) const {
    OwnTerms terms;
    terms.n = (float)share.count * (FORM == 0 ? VEC : 1);
    const float of_n = 1 / terms.n;
#pragma unroll
    for (int l = 0; l < LANES; ++l) {
      float sum = sums[l];
      float square = squares[l];
      if (FORM == 0) {
#pragma unroll
        for (int i = 1; i < VEC; ++i) {
          sum += sums[i];
          square += squares[i];
        }
      }
      const float mean = sum * of_n;
      terms.offset[l] = shift[l] - origin[l] + mean;
      terms.squares[l] = squares_without(square, sum * mean);
    }
    return merged(terms, share.tensor.part_values(share.part), origin, share, shared);
  }
};

// Some value of each channel of a part, near which its mean is likely to be.
struct Origin {
  float values[LANES];

  __device__ __forceinline__ Origin(const Share& share, const ELEMENT* x) {
#pragma unroll
    for (int l = 0; l < LANES; ++l) {
      const float some = real_of(x[share.some_offset(l)]);
      values[l] = finite(some) ? some : 0.0f;
    }
  }
};

// The statistics of one part. The first `kept` vectors go to kept_of(t, pack) and are read with the
// hint that they are not needed again.
template <class Keep>
__device__ __forceinline__ Statistics statistics_of_part(const Share& share, const ELEMENT* x,
                                                         int kept, const Keep& kept_of,
                                                         Shared& shared) {
  auto vectors = visit<false, Pack>(
      share, 0, share.count, [=](int t, long long offset) { return load(x + offset, t < kept); });
  const Origin origin(share, x);
  Deviations deviations;
  vectors.run(
      [&](int t, long long, const Pack& pack) {
        if (t < kept) kept_of(t, pack);
        if (t == 0) deviations.start(pack);
        deviations.add(pack);
      },
      [&](int done) { deviations.added(done, share.count); });
  return deviations.of_part(share, origin.values, shared);
}

// record(part, l) gives the mean and the squares of a part, for the l-th channel of the thread. One
// pass suffices for the few parts: the first one's mean, near which the others are, is subtracted.
template <class Record>
__device__ __forceinline__ Statistics merged_parts(const Share& share, const Record& record,
                                                   Shared& shared) {
  float origin[LANES];
  float sums[2][LANES] = {};
#pragma unroll
  for (int l = 0; l < LANES; ++l) {
    const float first = record(0, l).x;
    origin[l] = finite(first) ? first : 0.0f;
  }
  for (int part = share.ty; part < share.tensor.parts; part += TY) {
    const float n = share.tensor.part_values(part);
    if (n == 0) break;
    float2 records[LANES];
#pragma unroll
    for (int l = 0; l < LANES; ++l) records[l] = record(part, l);
#pragma unroll
    for (int l = 0; l < LANES; ++l) {
      const float offset = records[l].x - origin[l];
      sums[0][l] += share.leads(l) ? n * offset : 0.0f;
      sums[1][l] += share.leads(l) ? records[l].y + n * offset * offset : 0.0f;
    }
  }
  add_over_block<0>(sums, share, shared);
  Statistics statistics;
  const float of_values = 1 / share.tensor.values();
#pragma unroll
  for (int l = 0; l < LANES; ++l) {
    const float mean = sums[0][l] * of_values;
    statistics.mean[l] = origin[l] + mean;
    statistics.squares[l] = squares_without(sums[1][l], sums[0][l] * mean);
  }
  return statistics;
}

template <int kBuffer, class Record>
__device__ __forceinline__ void add_parts(const Share& share, const Record& record,
                                          float (&sums)[2][LANES], Shared& shared) {
#pragma unroll
  for (int l = 0; l < LANES; ++l) sums[0][l] = sums[1][l] = 0;
  for (int part = share.ty; part < share.tensor.parts; part += TY) {
    float2 records[LANES];
#pragma unroll
    for (int l = 0; l < LANES; ++l) records[l] = record(part, l);
#pragma unroll
    for (int l = 0; l < LANES; ++l) {
      sums[0][l] += share.leads(l) ? records[l].x : 0.0f;
      sums[1][l] += share.leads(l) ? records[l].y : 0.0f;
    }
  }
  add_over_block<kBuffer>(sums, share, shared);
}

#define HAS_CLUSTERS (__CUDA_ARCH__ >= 900)

__device__ __forceinline__ float2 record_in_cluster(const float2* own, int rank) {
  float2 record;
#if HAS_CLUSTERS
  unsigned address = (unsigned)__cvta_generic_to_shared(own);
  asm("mapa.shared::cluster.u32 %0, %0, %1;" : "+r"(address) : "r"(rank));
  asm volatile("ld.shared::cluster.v2.f32 {%0, %1}, [%2];"
               : "=f"(record.x), "=f"(record.y)
               : "r"(address)
               : "memory");
#else
  record = *own;
#endif
  return record;
}

__device__ __forceinline__ void arrive_at_cluster() {
#if HAS_CLUSTERS
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
#endif
}

__device__ __forceinline__ void wait_for_cluster() {
#if HAS_CLUSTERS
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}
