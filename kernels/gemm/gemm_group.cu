// Products on the tensor cores of Hopper (wgmma), bf16 and f16 with sums in f32, whose columns may begin anywhere. The
// first COPIERS threads of a block copy tiles of A and B as they lie (gemm_feed.cu), AHEAD tiles ahead, and lay the
// tile of B out as the tensor core reads it. GROUPS times 128 more multiply: fragments of A come out of their tile
// through registers, where they are shifted together. While products are under way, those of the next half of a tile
// are read.

#define GROUP_THREADS 128
#define BLOCKS (TILE_M / GROUPS / 64)
// Of A a tile is free once it was multiplied, two tiles later, of B once it is laid out.
#define STAGES_A (AHEAD + 2)
#define STAGES_B (AHEAD + 1)
#define HALF_STEPS 2

#if TRANS_A
#define LINES_A TILE_M
#define LENGTH_A TILE_K
#else
#define LINES_A TILE_K
#define LENGTH_A TILE_M
#endif
#if TRANS_B
#define LINES_B TILE_K
#define LENGTH_B TILE_N
#else
#define LINES_B TILE_N
#define LENGTH_B TILE_K
#endif
typedef Feed<LINES_A, LENGTH_A, TRANS_A == 1> FeedA;
typedef Feed<LINES_B, LENGTH_B, TRANS_B == 0> FeedB;
// Two of B, laid out.
#define STRAIGHT_BYTES (TILE_N * TILE_K * 2)

__device__ __forceinline__ unsigned shared_address(const void* place) {
  return (unsigned)__cvta_generic_to_shared(place);
}
__device__ __forceinline__ void expect_arrivals(unsigned barrier, int count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" : : "r"(barrier), "r"(count) : "memory");
}
__device__ __forceinline__ void arrive(unsigned barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" : : "r"(barrier) : "memory");
}
__device__ __forceinline__ void await(unsigned barrier, int phase) {
  asm volatile(
      "{\n.reg .pred done;\nagain:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@!done bra again;\n}"
      :
      : "r"(barrier), "r"(phase)
      : "memory");
}

// Moves `count` words by 4 * `quarters` bytes and `bits` more: `raw` has one word more.
template <int count, int quarters>
__device__ __forceinline__ void shift_words(const uint4* raw, unsigned bits, uint4* words) {
  unsigned part[4 * count + 5];
#pragma unroll
  for (int i = 0; i <= count; ++i) {
    part[4 * i] = raw[i].x;
    part[4 * i + 1] = raw[i].y;
    part[4 * i + 2] = raw[i].z;
    part[4 * i + 3] = raw[i].w;
  }
  part[4 * count + 4] = 0;  // Shifted in nowhere: a shift is less than a word.
#pragma unroll
  for (int i = 0; i < 4 * count; ++i) part[i] = __funnelshift_r(part[i + quarters], part[i + quarters + 1], bits);
#pragma unroll
  for (int i = 0; i < count; ++i) words[i] = make_uint4(part[4 * i], part[4 * i + 1], part[4 * i + 2], part[4 * i + 3]);
}

// Lays a tile of B out: rows of 128 bytes, whose eight words are spread over the banks by the place of the row among
// eight. Along the depth a line is a row; across it 64 elements are, the eight rows of a block one behind the other.
// Every eighth line is shifted alike, so one warp takes those. Its lanes read runs of two words and the next one, four
// runs of a line, and write the second word of a run first on every other line: so what is read, and written, at once
// is in different banks.
__device__ __forceinline__ void straighten(const FeedB& feed, const char* raw, char* straight) {
  constexpr int kLines = TRANS_B ? TILE_K : TILE_N;
  constexpr int kParts = FeedB::kWords / 8;  // Of a line.
  const int lane = threadIdx.x % 32;
  const int warp = __shfl_sync(~0u, threadIdx.x / 32, 0);
#pragma unroll
  for (int first = 0; first < 8; first += COPIERS / 32) {
    const int among = first + warp;  // Eight lines.
    const unsigned amount = feed.shift_of_line(among);
    const unsigned bits = amount % 4 * 8;
#pragma unroll
    for (int i = 0; i < (kLines + 63) / 64 * kParts; ++i) {
      const int line = 8 * (lane / 4 + i / kParts * 8) + among;
      if (kLines % 64 != 0 && line >= kLines) continue;
      const int word = (i % kParts * 4 + lane % 4) * 2;
      const uint4* const from = (const uint4*)(raw + FeedB::offset_of(line)) + word;
      const uint4 read[3] = {from[0], from[1], from[2]};
      uint4 words[2];
      switch (amount / 4) {
        case 0:
          shift_words<2, 0>(read, bits, words);
          break;
        case 1:
          shift_words<2, 1>(read, bits, words);
          break;
        case 2:
          shift_words<2, 2>(read, bits, words);
          break;
        default:
          shift_words<2, 3>(read, bits, words);
          break;
      }
      const int second = lane / 4 % 2;
      char* const row = straight + (TRANS_B ? (line / 8 * kParts + word / 8) * 1024 + among * 128 : line * 128);
      *(uint4*)(row + ((word + second) % 8 ^ among) * 16) = second ? words[1] : words[0];
      *(uint4*)(row + ((word + 1 - second) % 8 ^ among) * 16) = second ? words[0] : words[1];
    }
  }
}

// How a warp reads fragments of A: of 64 rows, those that are 2 * `warp` and one more behind a multiple of eight. So
// rows of a line along the depth that are read at once are shifted alike and lie in different banks; and of lines
// across it, of which four are read at once, neighbouring lanes read every fourth bank, each line others where columns
// begin at odd elements.
struct ReadA {
  int offset;
  unsigned shifts[2];  // Along the depth of the two rows, across it of this thread's two lines.

  __device__ __forceinline__ ReadA(const FeedA& feed, int warp) {
    const int row = threadIdx.x % 32 / 4 * 8 + 2 * warp;
    const int pair = threadIdx.x % 4 * 2;
    offset = TRANS_A ? FeedA::offset_of(row) + pair * 2 : FeedA::offset_of(pair) + row * 2;
#pragma unroll
    for (int i = 0; i < 2; ++i) shifts[i] = feed.shift_of_line((TRANS_A ? row : pair) + i);
  }

  // Two neighbours on a line.
  static __device__ __forceinline__ unsigned pair_at(const char* place, unsigned shift) {
    const unsigned* const words = (const unsigned*)(place + (shift & 12));
    return shift & 2 ? __funnelshift_r(words[0], words[1], 16) : words[0];
  }

  // 16 elements of the depth, the `step`th, of the `block`th 64 rows.
  __device__ __forceinline__ void read(const char* tile, int block, int step, unsigned* part) const {
#if TRANS_A
    const char* const place = tile + offset + FeedA::offset_of(block * 64) + step * 32;
#pragma unroll
    for (int i = 0; i < 4; ++i) part[i] = pair_at(place + FeedA::offset_of(i % 2) + i / 2 * 16, shifts[i % 2]);
#else
    const char* const place = tile + offset + block * 128 + FeedA::offset_of(step * 16);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const char* const lines = place + FeedA::offset_of(i * 8);
      const unsigned even = pair_at(lines, shifts[0]);
      const unsigned odd = pair_at(lines + FeedA::offset_of(1), shifts[1]);
      part[2 * i] = __byte_perm(even, odd, 0x5410);
      part[2 * i + 1] = __byte_perm(even, odd, 0x7632);
    }
#endif
  }
};

// 16 elements of the depth, the `step`th, of a tile of B that is laid out, as the tensor core takes them: where they
// begin, and in bytes how far blocks of 64 elements, and of eight rows, are from each other; banks are spread over 128
// bytes.
__device__ __forceinline__ unsigned long long columns_at(unsigned straight, int step) {
  constexpr int kBetweenParts = TRANS_B ? 1024 : 16;
  constexpr int kBetweenRows = TRANS_B ? TILE_N / 64 * 1024 : 1024;
  const unsigned begin = straight + step * (TRANS_B ? 2 * kBetweenRows : 32);
  return (unsigned long long)(begin >> 4 & 0x3fff) | (unsigned long long)(kBetweenParts >> 4) << 16 |
         (unsigned long long)(kBetweenRows >> 4) << 32 | 1ull << 62;
}

#if KIND == 1
#define TYPES "bf16.bf16"
#else
#define TYPES "f16.f16"
#endif
#define SUM_4(x, i) "+f"(x[i]), "+f"(x[i + 1]), "+f"(x[i + 2]), "+f"(x[i + 3])
#define SUM_16(x, i) SUM_4(x, i), SUM_4(x, i + 4), SUM_4(x, i + 8), SUM_4(x, i + 12)
#define SUM_32(x, i) SUM_16(x, i), SUM_16(x, i + 16)
#define NAMES_32                                                                                                       \
  "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30," \
  "%31"
#define NAMES_48 NAMES_32 ",%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47"
#if TILE_N == 128
#define SHAPE "m64n128k16"
#define SUMS(x) SUM_32(x, 0), SUM_32(x, 32)
#define NAMES NAMES_48 ",%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
#define FROM "{%64,%65,%66,%67}, %68"
#elif TILE_N == 96
#define SHAPE "m64n96k16"
#define SUMS(x) SUM_32(x, 0), SUM_16(x, 32)
#define NAMES NAMES_48
#define FROM "{%48,%49,%50,%51}, %52"
#else
#define SHAPE "m64n64k16"
#define SUMS(x) SUM_32(x, 0)
#define NAMES NAMES_32
#define FROM "{%32,%33,%34,%35}, %36"
#endif
#if TRANS_B
#define ACROSS "1"
#else
#define ACROSS "0"
#endif
__device__ __forceinline__ void multiply(const unsigned* rows, unsigned long long columns, float* sum) {
  asm volatile("wgmma.mma_async.sync.aligned." SHAPE ".f32." TYPES " {" NAMES "}, " FROM ", 1, 1, 1, " ACROSS ";"
               : SUMS(sum)
               : "r"(rows[0]), "r"(rows[1]), "r"(rows[2]), "r"(rows[3]), "l"(columns));
}

template <int under_way>
__device__ __forceinline__ void await_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" : : "n"(under_way) : "memory");
}

// Of tiles in turns: laid out, and multiplied.
struct Barriers {
  unsigned long long full[2];
  unsigned long long empty[2];
};

struct Tiles {
  char* straight;
  char* raw_a;
  char* raw_b;
  int count;
  int depth;  // Of all of them together, in elements.
};

__device__ __forceinline__ void feed_tiles(FeedA& feed_a, FeedB& feed_b, const Tiles& tiles, Barriers& barriers) {
#pragma unroll 1
  for (int tile = -AHEAD; tile < tiles.count; ++tile) {
    if (tile >= 0) {
      await_copies<AHEAD - 1>();
      // Behind this place the tile is there, and every copier done with the one before.
      asm volatile("bar.sync 1, %0;" : : "n"(COPIERS) : "memory");
      if (tile >= 2) await(shared_address(&barriers.empty[tile % 2]), (tile / 2 - 1) & 1);
      straighten(feed_b, tiles.raw_b + tile % STAGES_B * FeedB::kBytes, tiles.straight + tile % 2 * STRAIGHT_BYTES);
      asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
      arrive(shared_address(&barriers.full[tile % 2]));
    }
    const int next = tile + AHEAD;
    if (next < tiles.count) {
      feed_a.copy(tiles.depth - next * TILE_K, tiles.raw_a + next % STAGES_A * FeedA::kBytes);
      feed_b.copy(tiles.depth - next * TILE_K, tiles.raw_b + next % STAGES_B * FeedB::kBytes);
    }
    end_of_copies();
  }
  await_copies<0>();
}

typedef unsigned Fragments[HALF_STEPS][BLOCKS][4];
typedef float Sums[BLOCKS][TILE_N / 2];

// The products of one group of threads.
struct Multiplier {
  ReadA read_a;
  int first_block;
  Tiles tiles;

  __device__ __forceinline__ void read(int tile, int half, Fragments& rows) const {
    const char* const from = tiles.raw_a + tile % STAGES_A * FeedA::kBytes;
#pragma unroll
    for (int i = 0; i < HALF_STEPS; ++i) {
#pragma unroll
      for (int block = 0; block < BLOCKS; ++block)
        read_a.read(from, first_block + block, half * HALF_STEPS + i, rows[i][block]);
    }
  }

  __device__ __forceinline__ void begin(int tile, int half, const Fragments& rows, Sums& sum) const {
    const unsigned columns = shared_address(tiles.straight + tile % 2 * STRAIGHT_BYTES);
    asm volatile("wgmma.fence.sync.aligned;" : : : "memory");
#pragma unroll
    for (int i = 0; i < HALF_STEPS; ++i) {
#pragma unroll
      for (int block = 0; block < BLOCKS; ++block)
        multiply(rows[i][block], columns_at(columns, half * HALF_STEPS + i), sum[block]);
    }
    asm volatile("wgmma.commit_group.sync.aligned;" : : : "memory");
  }

  __device__ __forceinline__ void multiply_all(Barriers& barriers, Sums& sum) const {
    // They are in registers before the first product begins.
#pragma unroll
    for (int i = 0; i < BLOCKS * TILE_N / 2; ++i)
      asm volatile("" : "+f"(sum[i / (TILE_N / 2)][i % (TILE_N / 2)]) : : "memory");
    Fragments first, second;
    if (tiles.count > 0) {
      await(shared_address(&barriers.full[0]), 0);
      read(0, 0, first);
    }
#pragma unroll 1
    for (int tile = 0; tile < tiles.count; ++tile) {
      begin(tile, 0, first, sum);
      await_products<1>();
      if (tile > 0 && threadIdx.x % 32 == 0) arrive(shared_address(&barriers.empty[(tile - 1) % 2]));
      read(tile, 1, second);
      begin(tile, 1, second, sum);
      if (tile + 1 == tiles.count) break;
      await(shared_address(&barriers.full[(tile + 1) % 2]), (tile + 1) / 2 & 1);
      await_products<1>();
      read(tile + 1, 0, first);
    }
    await_products<0>();
  }
};

__device__ __forceinline__ void stage_sums(const Sums& sum, int first_block, int warp, float* staged) {
  const int row = first_block * 64 + threadIdx.x % 32 / 4 * 8 + 2 * warp;
  const int column = threadIdx.x % 4 * 2;
#pragma unroll
  for (int block = 0; block < BLOCKS; ++block) {
#pragma unroll
    for (int i = 0; i < TILE_N / 2; ++i) {
      staged[staged_at(row + block * 64 + i % 4 / 2, column + i / 4 * 8 + i % 2)] = sum[block][i];
    }
  }
}

// Whoever multiplies large tiles needs more registers than there are for each thread, and whoever copies fewer.
#if GROUPS == 2 && BLOCKS * TILE_N / 2 > 64
#define KEEP_REGISTERS(how, count) asm volatile("setmaxnreg." how ".sync.aligned.u32 " count ";")
#else
#define KEEP_REGISTERS(how, count)
#endif

#if CLUSTER
#define LAUNCHED_TOGETHER __cluster_dims__(1, 1, SPLIT_K)
#else
#define LAUNCHED_TOGETHER
#endif

extern "C" __global__ void __launch_bounds__(THREADS) LAUNCHED_TOGETHER
    gemm_group(const ELEMENT* a, const ELEMENT* b, const OUTPUT* bias, OUTPUT* c, float* workspace, int m, int n, int k,
               int lda, int ldb, int ldc, long long stride_a, long long stride_b, long long stride_c, float alpha,
               float beta) {
  extern __shared__ __align__(1024) uint4 shared_words[];
  __shared__ Barriers barriers;
  float* const staged = (float*)shared_words;
  char* const straight = (char*)shared_words;
  char* const raw_a = straight + 2 * STRAIGHT_BYTES;
  const int matrix = blockIdx.z / SPLIT_K;
  const int depth = ((k + TILE_K - 1) / TILE_K + SPLIT_K - 1) / SPLIT_K * TILE_K;
  const int first_k = (int)min((long long)k, (long long)(blockIdx.z % SPLIT_K) * depth);
  const int depth_here = (int)min((long long)depth, (long long)k - first_k);
  const Tiles tiles = {straight, raw_a, raw_a + STAGES_A * FeedA::kBytes, (depth_here + TILE_K - 1) / TILE_K,
                       depth_here};
  const int row = blockIdx.x * TILE_M;
  const int column = blockIdx.y * TILE_N;
  if (threadIdx.x == 0) {
    for (int i = 0; i < 2; ++i) {
      expect_arrivals(shared_address(&barriers.full[i]), COPIERS);
      expect_arrivals(shared_address(&barriers.empty[i]), GROUPS * GROUP_THREADS / 32);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" : : : "memory");
  }
  __syncthreads();
  FeedA feed_a = feed_of<LINES_A, LENGTH_A, TRANS_A == 1>(a + matrix * stride_a, lda, row, m, first_k);
  if (threadIdx.x < COPIERS) {
    KEEP_REGISTERS("dec", "56");
    FeedB feed_b = feed_of<LINES_B, LENGTH_B, TRANS_B == 0>(b + matrix * stride_b, ldb, column, n, first_k);
    feed_tiles(feed_a, feed_b, tiles, barriers);
    __syncthreads();
  } else {
    KEEP_REGISTERS("inc", "200");
    const int warp = __shfl_sync(~0u, threadIdx.x / 32 % 4, 0);
    const int first_block = (threadIdx.x - COPIERS) / GROUP_THREADS * BLOCKS;
    const Multiplier multiplier = {ReadA(feed_a, warp), first_block, tiles};
    Sums sum = {};
    multiplier.multiply_all(barriers, sum);
    // Behind this place nothing is read any more of what sums are laid over.
    __syncthreads();
    stage_sums(sum, first_block, warp, staged);
  }
  __syncthreads();
  gather_sums(staged);
  write_tile(results_of(c, bias, workspace, m, n, ldc, stride_c, alpha, beta), staged, row, column, m, n);
}
