// Batch norm of rows (FORM 1) in one launch whose blocks all run at the same time. A block keeps
// vectors of its part in registers and shared memory while the blocks exchange their sums at a
// barrier; only the other vectors are read again.
//
// A thread's vectors are, in the order of the first pass: REGISTERS in registers, `keep` in shared
// memory, those up to `cold` that are read again from memory, and those that the L2 cache still
// has when they are read again, the last ones first.
//
// Every vector arrives as an asynchronous copy to shared memory, RING vectors ahead: the shared
// memory leaves too little of the L1 cache for enough loads to registers.

#define SLICES (THREADS / BLOCK_CHANNELS)  // Threads that merge the parts of one channel.
#define RING_TENSORS (FORWARD ? 1 + ADD : 2 + RELU)

// A barrier of all blocks, which needs a cooperative launch: it guarantees that all blocks run at
// the same time, and the driver provides a workspace for each launch. %envreg1 and %envreg2 hold
// its address, and the barrier's word is 4 bytes behind it. The word and the protocol are those of
// grid_group::sync() (cooperative_groups/details/driver_abi.h and sync.h of CUDA 13); the
// headers are not there when NVRTC compiles. In each round every block adds 1 to the word, and
// block 0 adds the rest of 2^31, so that the top bit changes when the last block arrives.
class GridBarrier {
 public:
  __device__ __forceinline__ GridBarrier() {
    unsigned high, low;
    asm("mov.u32 %0, %%envreg1;" : "=r"(high));
    asm("mov.u32 %0, %%envreg2;" : "=r"(low));
    word_ = (unsigned*)((unsigned long long)high << 32 | low) + 1;
  }
  // Writes of a block before arrive() are visible to every block after wait().
  __device__ __forceinline__ void arrive() {
    __syncthreads();
    if (threadIdx.x != 0) return;
    const unsigned by = blockIdx.x == 0 ? 0x80000000u - (gridDim.x - 1) : 1u;
    asm volatile("atom.add.release.gpu.u32 %0, [%1], %2;"
                 : "=r"(before_)
                 : "l"(word_), "r"(by)
                 : "memory");
  }
  __device__ __forceinline__ void wait() {
    if (threadIdx.x == 0) {
      unsigned now;
      do {
        asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(now) : "l"(word_) : "memory");
      } while (((now ^ before_) & 0x80000000u) == 0);
    }
    __syncthreads();
  }

 private:
  unsigned* word_;
  unsigned before_ = 0;
};

struct GridShared {
  float2 slices[SLICES][BLOCK_CHANNELS];
  float2 totals[BLOCK_CHANNELS];
};

// Adds the records of all parts, in a fixed order. use(sum, n, record, origin) adds one record of n
// values; total(sum, origin) gives the result of a channel. A thread loads many records at once,
// because every block waits for them.
template <class Use, class Total>
__device__ __forceinline__ void merge_records(const float2* records, const Share& share,
                                              const Use& use, const Total& total,
                                              float (&merged)[2][LANES], GridShared& shared) {
  constexpr int kRounds = (SPLIT + SLICES - 1) / SLICES;
  constexpr int kBatch = kRounds < 16 ? kRounds : 16;
  const int local = threadIdx.x % BLOCK_CHANNELS;
  const int slice = threadIdx.x / BLOCK_CHANNELS;
  const bool inside = share.first_channel + local < share.tensor.channels;
  const float2* const first = records + (inside ? share.first_channel + local : 0);
  const float2 nothing = make_float2(0, 0);
  const float origin = __ldcg(first).x;
  float2 sum = nothing;
#pragma unroll 1
  for (int begin = slice; begin < SPLIT; begin += kBatch * SLICES) {
    float2 batch[kBatch];
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      const int part = begin + i * SLICES;
      batch[i] = part < SPLIT ? __ldcg(first + (long long)part * share.tensor.channels) : nothing;
    }
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      const int part = begin + i * SLICES;
      const float n = part < SPLIT ? share.tensor.part_values(part) : 0.0f;
      if (n > 0) use(sum, n, batch[i], finite(origin) ? origin : 0.0f);
    }
  }
  shared.slices[slice][local] = sum;
  __syncthreads();
  if (threadIdx.x < BLOCK_CHANNELS) {
    float2 all = nothing;
#pragma unroll 8
    for (int i = 0; i < SLICES; ++i) {
      all.x += shared.slices[i][local].x;
      all.y += shared.slices[i][local].y;
    }
    shared.totals[local] = total(all, finite(origin) ? origin : 0.0f);
  }
  __syncthreads();
#pragma unroll
  for (int l = 0; l < LANES; ++l) {
    merged[0][l] = shared.totals[share.local_channel(l)].x;
    merged[1][l] = shared.totals[share.local_channel(l)].y;
  }
}

__device__ __forceinline__ Statistics merged_statistics(const float2* records, const Share& share,
                                                        GridShared& shared) {
  float merged[2][LANES];
  const float of_values = 1 / share.tensor.values();
  merge_records(
      records, share,
      [](float2& sum, float n, float2 record, float origin) {
        const float offset = record.x - origin;
        sum.x += n * offset;
        sum.y += record.y + n * offset * offset;
      },
      [=](float2 sum, float origin) {
        const float mean = sum.x * of_values;
        return make_float2(origin + mean, squares_without(sum.y, sum.x * mean));
      },
      merged, shared);
  Statistics statistics;
#pragma unroll
  for (int l = 0; l < LANES; ++l) {
    statistics.mean[l] = merged[0][l];
    statistics.squares[l] = merged[1][l];
  }
  return statistics;
}

// Writes the record of a block's part, for the other blocks.
__device__ __forceinline__ void write_record(float2* records, const Share& share,
                                             const float (&first)[LANES],
                                             const float (&second)[LANES]) {
#pragma unroll
  for (int l = 0; l < LANES; ++l) {
    if (!share.owns(l)) continue;
    records[(long long)share.part * share.tensor.channels + share.channel(l)] =
        make_float2(first[l], second[l]);
  }
}

// A hint for the L2 cache: another read of a vector follows, or none.
enum class Reuse { kNone, kLater };

// Copies a vector to shared memory without waiting for it.
__device__ __forceinline__ void copy(WORD* to, const ELEMENT* from, Reuse reuse) {
#if VEC_BYTES >= 4
  const unsigned address = (unsigned)__cvta_generic_to_shared(to);
#if VEC_BYTES == 16
#define COPY "cp.async.cg.shared.global"
#else
#define COPY "cp.async.ca.shared.global"
#endif
#if HINTS
  unsigned long long policy;
  if (reuse == Reuse::kNone) {
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  } else {
    asm("createpolicy.fractional.L2::evict_normal.b64 %0, 1.0;" : "=l"(policy));
  }
  asm volatile(COPY ".L2::cache_hint [%0], [%1], %2, %3;" ::"r"(address), "l"(from), "n"(VEC_BYTES),
               "l"(policy)
               : "memory");
#else
  asm volatile(COPY " [%0], [%1], %2;" ::"r"(address), "l"(from), "n"(VEC_BYTES) : "memory");
#endif
#else
  *to = load(from, reuse == Reuse::kNone).word;  // Asynchronous copies have at least 4 bytes.
#endif
}

__device__ __forceinline__ Pack pack_at(const WORD* word) {
  Pack pack;
  pack.word = *word;
  return pack;
}

// Goes over the vectors of a share, forwards or backwards, and copies RING vectors ahead with
// copy(s, slot, offset) for the s-th one. A thread waits for its own copies alone.
template <bool kBack, class Copy>
class Stream {
 public:
  __device__ __forceinline__ Stream(const Share& share, WORD* ring, const Copy& copy_one)
      : ring_(ring),
        count_(share.count),
        ahead_(share, kBack ? share.count - 1 : 0),
        here_(ahead_),
        copy_(copy_one) {
#pragma unroll
    for (int i = 0; i < RING; ++i) copy_next();
  }

  // Calls use(slot, offset) for the next vector when its copies are complete. Without kCopied
  // neither this vector nor a later one has copies.
  template <bool kCopied, class Use>
  __device__ __forceinline__ void next(const Use& use) {
    if (kCopied) asm volatile("cp.async.wait_group %0;" ::"n"(RING - 1) : "memory");
    use(slot(copied_), here_.offset);
    here_.template advance<kBack>();
    if (kCopied) copy_next();
  }

 private:
  // The vector in use and the next one to copy, RING behind it, share a slot.
  __device__ __forceinline__ WORD* slot(unsigned s) const {
    return ring_ + s % RING * (RING_TENSORS * THREADS);
  }
  __device__ __forceinline__ void copy_next() {
    if ((int)copied_ < count_) {
      copy_(copied_, slot(copied_), ahead_.offset);
      ahead_.template advance<kBack>();
    }
    ++copied_;
    asm volatile("cp.async.commit_group;" ::: "memory");
  }

  WORD* ring_;
  int count_;
  unsigned copied_ = 0;
  Walk ahead_, here_;
  Copy copy_;
};

template <bool kBack, class Copy>
__device__ __forceinline__ Stream<kBack, Copy> stream(const Share& share, WORD* ring,
                                                      const Copy& copy_one) {
  return Stream<kBack, Copy>(share, ring, copy_one);
}

// The places of a thread's vectors.
struct Kept {
  int registers_end, shared_end;  // In the order of the first pass.
  int keep;
  WORD *x, *g, *ring;

  __device__ __forceinline__ Kept(const Share& share, int keep, WORD* shared)
      : registers_end(share.count < REGISTERS ? share.count : REGISTERS),
        shared_end(share.count - registers_end < keep ? share.count : registers_end + keep),
        keep(keep),
        x(shared + threadIdx.x),
        g(x + keep * THREADS),
        ring(x + (FORWARD ? 1 : 2) * keep * THREADS) {}

  // The place in shared memory of vector t.
  __device__ __forceinline__ int index(int t) const { return (t - REGISTERS) * THREADS; }
  __device__ __forceinline__ bool has(int t) const {
    return (unsigned)(t - REGISTERS) < (unsigned)keep;
  }
};

// The first pass of training, and of backward without saved statistics.
__device__ __forceinline__ Statistics grid_statistics(const Share& share, const Kept& kept,
                                                      const ELEMENT* x, int cold, Pack* own_x,
                                                      Shared& shared) {
  auto vectors = stream<false>(share, kept.ring, [=](int t, WORD* slot, long long offset) {
    copy(kept.has(t) ? kept.x + kept.index(t) : slot, x + offset,
         t < cold ? Reuse::kNone : Reuse::kLater);
  });
  const Origin origin(share, x);
  Deviations deviations;
  int t = 0;
  const auto add = [&](const Pack& pack) {
    if (t == 0) deviations.start(pack);
    deviations.add(pack);
    deviations.added(++t, share.count);
  };
#pragma unroll
  for (int u = 0; u < REGISTERS; ++u) {
    if (u >= share.count) break;
    vectors.template next<true>([&](const WORD* slot, long long) {
      own_x[u] = pack_at(slot);
      add(own_x[u]);
    });
  }
  while (t < kept.shared_end) {
    vectors.template next<true>(
        [&](const WORD*, long long) { add(pack_at(kept.x + kept.index(t))); });
  }
  while (t < share.count) {
    vectors.template next<true>([&](const WORD* slot, long long) { add(pack_at(slot)); });
  }
  return deviations.of_part(share, origin.values, shared);
}

#define OWN (REGISTERS > 0 ? REGISTERS : 1)

#if !TRAINING
// The sums of the gradients of a thread, which keeps what it reads.
template <class Vectors>
__device__ __forceinline__ GradientSums grid_sums(Vectors& gradients, const Share& share,
                                                  const Kept& kept, const Norm& norm,
                                                  ELEMENT* dresidual, Pack (&own_x)[OWN],
                                                  Pack (&own_g)[OWN]) {
  GradientSums own_sums;
  const auto add = [&](Gradients& loaded, const WORD* slot, long long offset) {
    if (RELU) loaded.y = pack_at(slot + 2 * THREADS);
    own_sums.add(loaded, norm, dresidual, offset);
  };
#pragma unroll
  for (int u = 0; u < REGISTERS; ++u) {
    if (u >= share.count) break;
    gradients.template next<true>([&](const WORD* slot, long long offset) {
      Gradients loaded;
      loaded.x = SAVED ? pack_at(slot) : own_x[u];
      loaded.g = pack_at(slot + THREADS);
      add(loaded, slot, offset);
      own_x[u] = loaded.x;
      own_g[u] = loaded.g;
    });
  }
  for (int t = kept.registers_end; t < kept.shared_end; ++t) {
    gradients.template next<true>([&](const WORD* slot, long long offset) {
      Gradients loaded;
      loaded.x = pack_at(kept.x + kept.index(t));
      loaded.g = pack_at(kept.g + kept.index(t));
      add(loaded, slot, offset);
      if (RELU) kept.g[kept.index(t)] = loaded.g.word;
    });
  }
  for (int t = kept.shared_end; t < share.count; ++t) {
    gradients.template next<true>([&](const WORD* slot, long long offset) {
      Gradients loaded;
      loaded.x = pack_at(slot);
      loaded.g = pack_at(slot + THREADS);
      add(loaded, slot, offset);
    });
  }
  return own_sums;
}

// dx of the vectors of a thread: those that it did not keep, then the kept ones.
template <class Vectors>
__device__ __forceinline__ void grid_apply(Vectors& vectors, const Share& share, const Kept& kept,
                                           const Derivative& derivative, const Norm& norm,
                                           const Pack (&own_x)[OWN], const Pack (&own_g)[OWN],
                                           ELEMENT* dx) {
  const int others = share.count - kept.shared_end;
  for (int s = 0; s < others; ++s) {
    vectors.template next<true>([&](const WORD* slot, long long offset) {
      Gradients loaded;
      loaded.x = pack_at(slot);
      loaded.g = pack_at(slot + THREADS);
      if (RELU) loaded.y = pack_at(slot + 2 * THREADS);
      mask_gradient(loaded);
      store(derivative.of(loaded, norm), dx + offset);
    });
  }
  for (int t = kept.shared_end - 1; t >= kept.registers_end; --t) {
    vectors.template next<false>([&](const WORD*, long long offset) {
      Gradients loaded;
      loaded.x = pack_at(kept.x + kept.index(t));
      loaded.g = pack_at(kept.g + kept.index(t));
      store(derivative.of(loaded, norm), dx + offset);
    });
  }
#pragma unroll
  for (int u = REGISTERS - 1; u >= 0; --u) {
    if (u >= share.count) continue;
    vectors.template next<false>([&](const WORD*, long long offset) {
      Gradients loaded;
      loaded.x = own_x[u];
      loaded.g = own_g[u];
      store(derivative.of(loaded, norm), dx + offset);
    });
  }
}
#endif

#if TRAINING
extern "C" __global__ void BOUNDS batch_norm_grid(PARAMETERS, int cold) {
  extern __shared__ uint4 dynamic_shared[];
  __shared__ Shared shared;
  __shared__ GridShared grid_shared;
  const int of_channels = gridDim.x / SPLIT;
  const Share share({outer, channels, inner, SPLIT, part_size}, blockIdx.x % of_channels,
                    blockIdx.x / of_channels);
  const Kept kept(share, keep, (WORD*)dynamic_shared);
  const int others = share.count - kept.shared_end;
  Pack own_x[OWN];
  GridBarrier barrier;
  Statistics statistics = grid_statistics(share, kept, x, cold, own_x, shared);
  write_record(workspace, share, statistics.mean, statistics.squares);
  barrier.arrive();
  auto vectors = stream<true>(share, kept.ring, [=](int s, WORD* slot, long long offset) {
    if (s < others) copy(slot, x + offset, Reuse::kNone);
    if (ADD) copy(slot + THREADS, residual + offset, Reuse::kNone);
  });
  const Affine affine(share, gamma, beta);
  barrier.wait();
  statistics = merged_statistics(workspace, share, grid_shared);
  const Norm norm = norm_of(statistics, share, affine, epsilon);
  write_statistics(statistics, norm, share, momentum, running_mean, running_variance, saved_mean,
                   saved_inverse_deviation);
  const auto write = [&](const Pack& x_vector, const WORD* slot, long long offset) {
    Normalised loaded;
    loaded.x = x_vector;
    if (ADD) loaded.residual = pack_at(slot + THREADS);
    store(normalised(loaded, norm, affine), y + offset);
  };
  for (int s = 0; s < others; ++s) {
    vectors.template next<true>(
        [&](const WORD* slot, long long offset) { write(pack_at(slot), slot, offset); });
  }
  for (int t = kept.shared_end - 1; t >= kept.registers_end; --t) {
    vectors.template next<ADD>([&](const WORD* slot, long long offset) {
      write(pack_at(kept.x + kept.index(t)), slot, offset);
    });
  }
#pragma unroll
  for (int u = REGISTERS - 1; u >= 0; --u) {
    if (u >= share.count) continue;
    vectors.template next<ADD>(
        [&](const WORD* slot, long long offset) { write(own_x[u], slot, offset); });
  }
}
#else
extern "C" __global__ void BOUNDS batch_norm_grid(PARAMETERS, int cold) {
  extern __shared__ uint4 dynamic_shared[];
  __shared__ Shared shared;
  __shared__ GridShared grid_shared;
  const int of_channels = gridDim.x / SPLIT;
  const Share share({outer, channels, inner, SPLIT, part_size}, blockIdx.x % of_channels,
                    blockIdx.x / of_channels);
  const Kept kept(share, keep, (WORD*)dynamic_shared);
  const int others = share.count - kept.shared_end;
  Pack own_x[OWN];
  GridBarrier barrier;
  Pack own_g[OWN];
  float2* const sum_records = workspace + (long long)SPLIT * channels;
  Norm norm;
#if SAVED
  // The first pass needs no more of the statistics than the means.
#pragma unroll
  for (int l = 0; l < LANES; ++l) norm.mean[l] = saved_mean[share.channel(l)];
#else
  const Statistics own_statistics = grid_statistics(share, kept, x, cold, own_x, shared);
  write_record(workspace, share, own_statistics.mean, own_statistics.squares);
  barrier.arrive();
#endif
  auto gradients = stream<false>(share, kept.ring, [=](int t, WORD* slot, long long offset) {
    const Reuse reuse = t < cold ? Reuse::kNone : Reuse::kLater;
    if (SAVED || t >= kept.shared_end) {
      copy(kept.has(t) ? kept.x + kept.index(t) : slot, x + offset, reuse);
    }
    copy(kept.has(t) ? kept.g + kept.index(t) : slot + THREADS, dy + offset, reuse);
    if (RELU) copy(slot + 2 * THREADS, y + offset, reuse);
  });
#if !SAVED
  const Affine affine(share, gamma, beta);
  barrier.wait();
  norm = norm_of(merged_statistics(workspace, share, grid_shared), share, affine, epsilon);
#endif
  GradientSums own_sums = grid_sums(gradients, share, kept, norm, dresidual, own_x, own_g);
  float sums[2][LANES];
  own_sums.over_block(sums, share, shared);
  write_record(sum_records, share, sums[0], sums[1]);
  barrier.arrive();
  auto vectors = stream<true>(share, kept.ring, [=](int s, WORD* slot, long long offset) {
    if (s >= others) return;
    copy(slot, x + offset, Reuse::kNone);
    copy(slot + THREADS, dy + offset, Reuse::kNone);
    if (RELU) copy(slot + 2 * THREADS, y + offset, Reuse::kNone);
  });
#if SAVED
  norm = saved_norm(share, Affine(share, gamma, beta), saved_mean, saved_inverse_deviation);
#endif
  barrier.wait();
  merge_records(
      sum_records, share,
      [](float2& sum, float, float2 record, float) {
        sum.x += record.x;
        sum.y += record.y;
      },
      [](float2 sum, float) { return sum; }, sums, grid_shared);
  write_gradients(sums, norm, share, dgamma, dbeta);
  const Derivative derivative(share, norm, sums);
  grid_apply(vectors, share, kept, derivative, norm, own_x, own_g, dx);
}
#endif
