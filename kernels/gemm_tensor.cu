// Products on tensor cores: bf16 and f16 with sums in f32, and f32 rounded to tf32 where the problem allows it. A block
// computes TILE_M x TILE_N of C; while its warps multiply one tile of depth TILE_K, STAGES - 1 more are on their way
// (gemm_feed.cu). Columns may begin anywhere, so no operand is copied before.

#define WARP_M (TILE_M / WARPS_M)
#define WARP_N (TILE_N / WARPS_N)
#define MMA_M 16
#define MMA_N 8
#if KIND == 0
#define MMA_K 8
#else
#define MMA_K 16
#endif
#define ROWS (WARP_M / MMA_M)
#define COLUMNS (WARP_N / MMA_N)

// A tile lies in shared memory as its matrix does in memory: lines of what is contiguous there.
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

#if KIND == 0
// The value of a tile at `outer` (row of A, column of B) and `depth`, rounded to tf32.
template <class Operand, bool along_depth>
__device__ __forceinline__ unsigned tf32_at(const char* tile, int outer, int depth) {
  unsigned value;
  const float exact = along_depth ? *Operand::place_of(tile, outer, depth) : *Operand::place_of(tile, depth, outer);
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(value) : "f"(exact));
  return value;
}

__device__ __forceinline__ void load_rows(const char* tile, int row, int depth, unsigned* part) {
  const int outer = row + threadIdx.x % 32 / 4;
  const int inner = depth + threadIdx.x % 4;
#pragma unroll
  for (int i = 0; i < 4; ++i) part[i] = tf32_at<FeedA, TRANS_A == 1>(tile, outer + i % 2 * 8, inner + i / 2 * 4);
}

// Two neighbouring blocks of columns.
__device__ __forceinline__ void load_columns(const char* tile, int column, int depth, unsigned* part) {
  const int outer = column + threadIdx.x % 32 / 4;
  const int inner = depth + threadIdx.x % 4;
#pragma unroll
  for (int i = 0; i < 4; ++i) part[i] = tf32_at<FeedB, TRANS_B == 0>(tile, outer + i / 2 * 8, inner + i % 2 * 4);
}

__device__ __forceinline__ void multiply(const unsigned* a, const unsigned* b, float* sum) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
#else
// Four blocks of 8x8 elements; a thread names the line that it begins with.
template <bool transposed>
__device__ __forceinline__ void load_blocks(const ELEMENT* line, unsigned* part) {
  const unsigned place = (unsigned)__cvta_generic_to_shared(line);
  if (transposed) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(part[0]), "=r"(part[1]), "=r"(part[2]), "=r"(part[3])
                 : "r"(place));
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(part[0]), "=r"(part[1]), "=r"(part[2]), "=r"(part[3])
                 : "r"(place));
  }
}

// The first two blocks are 8 rows each of the first 8 in depth, the others of the next 8. A tile's lines are added up out
// of multiples of eight and what is left, so that their offsets add up, too.
__device__ __forceinline__ void load_rows(const char* tile, int row, int depth, unsigned* part) {
  const int lane = threadIdx.x % 32;
#if TRANS_A
  load_blocks<false>(FeedA::place_of(tile + FeedA::offset_of(row), lane % 16, depth + lane / 16 * 8), part);
#else
  load_blocks<true>(
      FeedA::place_of(tile + FeedA::offset_of(depth), lane / 16 * 8 + lane % 8, row + lane / 8 % 2 * 8), part);
#endif
}

// The first two blocks are the same 8 columns at two depths, the others the next 8 columns.
__device__ __forceinline__ void load_columns(const char* tile, int column, int depth, unsigned* part) {
  const int lane = threadIdx.x % 32;
#if TRANS_B
  load_blocks<true>(FeedB::place_of(tile + FeedB::offset_of(depth), lane % 16, column + lane / 16 * 8), part);
#else
  load_blocks<false>(
      FeedB::place_of(tile + FeedB::offset_of(column), lane / 16 * 8 + lane % 8, depth + lane / 8 % 2 * 8), part);
#endif
}

#if KIND == 1
#define MMA_TYPES "f32.bf16.bf16.f32"
#else
#define MMA_TYPES "f32.f16.f16.f32"
#endif
__device__ __forceinline__ void multiply(const unsigned* a, const unsigned* b, float* sum) {
  asm("mma.sync.aligned.m16n8k16.row.col." MMA_TYPES " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
#endif

// Adds the product of two tiles to the sums of this warp.
__device__ __forceinline__ void multiply_tiles(const char* tile_a, const char* tile_b, int warp_row, int warp_column,
                                               float sum[ROWS][COLUMNS][4]) {
#pragma unroll
  for (int depth = 0; depth < TILE_K; depth += MMA_K) {
    unsigned left[ROWS][4];
    unsigned right[COLUMNS / 2][4];
#pragma unroll
    for (int i = 0; i < ROWS; ++i) load_rows(tile_a, warp_row + i * MMA_M, depth, left[i]);
#pragma unroll
    for (int j = 0; j < COLUMNS / 2; ++j) load_columns(tile_b, warp_column + j * 2 * MMA_N, depth, right[j]);
#pragma unroll
    for (int i = 0; i < ROWS; ++i) {
#pragma unroll
      for (int j = 0; j < COLUMNS; ++j) multiply(left[i], right[j / 2] + j % 2 * 2, sum[i][j]);
    }
  }
}

__device__ __forceinline__ void stage_sums(const float sum[ROWS][COLUMNS][4], int warp_row, int warp_column,
                                           float* staged) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int j = 0; j < COLUMNS; ++j) {
#pragma unroll
    for (int i = 0; i < ROWS; ++i) {
#pragma unroll
      for (int part = 0; part < 4; ++part) {
        const int row = warp_row + i * MMA_M + lane / 4 + part / 2 * 8;
        const int column = warp_column + j * MMA_N + lane % 4 * 2 + part % 2;
        staged[column * STAGED_PITCH + row] = sum[i][j][part];
      }
    }
  }
}

#if CLUSTER
#define LAUNCHED_TOGETHER __cluster_dims__(1, 1, SPLIT_K)
#else
#define LAUNCHED_TOGETHER
#endif

extern "C" __global__ void __launch_bounds__(THREADS) LAUNCHED_TOGETHER
    gemm_tensor(const ELEMENT* a, const ELEMENT* b, const OUTPUT* bias, OUTPUT* c, float* workspace, int m, int n, int k,
                int lda, int ldb, int ldc, long long stride_a, long long stride_b, long long stride_c, float alpha,
                float beta) {
  extern __shared__ uint4 shared_words[];
  char* const stages = (char*)shared_words;
  constexpr int kStageBytes = FeedA::kBytes + FeedB::kBytes;
  const int matrix = blockIdx.z / SPLIT_K;
  const int depth = ((k + TILE_K - 1) / TILE_K + SPLIT_K - 1) / SPLIT_K * TILE_K;
  const int first_k = (int)min((long long)k, (long long)(blockIdx.z % SPLIT_K) * depth);
  const int depth_here = (int)min((long long)depth, (long long)k - first_k);
  const int tiles = (depth_here + TILE_K - 1) / TILE_K;
  const int row = blockIdx.x * TILE_M;
  const int column = blockIdx.y * TILE_N;
  FeedA feed_a = feed_of<LINES_A, LENGTH_A, TRANS_A == 1>(a + matrix * stride_a, lda, row, m, first_k);
  FeedB feed_b = feed_of<LINES_B, LENGTH_B, TRANS_B == 0>(b + matrix * stride_b, ldb, column, n, first_k);
  const auto begin_tile = [&](int tile) {
    if (tile < tiles) {
      char* const stage = stages + tile % STAGES * kStageBytes;
      feed_a.copy(depth_here - tile * TILE_K, stage);
      feed_b.copy(depth_here - tile * TILE_K, stage + FeedA::kBytes);
    }
    end_of_copies();
  };
  const int warp_row = threadIdx.x / 32 % WARPS_M * WARP_M;
  const int warp_column = threadIdx.x / 32 / WARPS_M * WARP_N;
  float sum[ROWS][COLUMNS][4] = {};

  // The first rounds only begin to copy, so that every step stands here once: short products spend their time on reading
  // instructions.
#pragma unroll 1
  for (int tile = 1 - STAGES; tile < tiles; ++tile) {
    if (tile >= -1) {
      await_copies<STAGES - 3>();
      // Behind this place the next tile is there, this one straight, and every warp done with the one before.
      __syncthreads();
    }
    begin_tile(tile + STAGES - 1);
    if (tile >= -1 && tile + 1 < tiles) {
      char* const next = stages + (tile + 1) % STAGES * kStageBytes;
      feed_a.straighten(next);
      feed_b.straighten(next + FeedA::kBytes);
    }
    if (tile >= 0) {
      const char* const stage = stages + tile % STAGES * kStageBytes;
      multiply_tiles(stage, stage + FeedA::kBytes, warp_row, warp_column, sum);
    }
  }

  await_copies<0>();
  __syncthreads();
  float* const staged = (float*)shared_words;
  stage_sums(sum, warp_row, warp_column, staged);
  __syncthreads();
  gather_sums(staged);
  write_tile(results_of(c, bias, workspace, m, n, ldc, stride_c, alpha, beta), staged, row, column, m, n);
}
