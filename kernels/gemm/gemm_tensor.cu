// Products on tensor cores: bf16 and f16 with sums in f32, and f32 rounded to tf32 where the problem allows it. A block
// computes TILE_M x TILE_N of C; while its warps multiply one tile of depth TILE_K, STAGES - 1 more are on their way
// (gemm_feed.cu). Columns may begin anywhere (gemm_fragments.cu), so no operand is copied before.

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
#define STEPS (TILE_K / MMA_K)

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

#if TRANS_A
typedef ReadAlong<FeedA> ReadA;
#else
typedef ReadAcross<FeedA> ReadA;
#endif
#if TRANS_B
typedef ReadAcross<FeedB> ReadB;
#else
typedef ReadAlong<FeedB> ReadB;
#endif

#if KIND == 0
#define MMA "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"
#elif KIND == 1
#define MMA "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"
#else
#define MMA "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
#endif
// `a`: two registers of the first eight rows, then two of the others, each as MMA_K goes.
__device__ __forceinline__ void multiply(const unsigned (*a)[2], const unsigned* b, float* sum) {
  asm(MMA " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0][0]), "r"(a[1][0]), "r"(a[0][1]), "r"(a[1][1]), "r"(b[0]), "r"(b[1]));
}

// Adds the product of two tiles to the sums of this warp.
__device__ __forceinline__ void multiply_tiles(const char* tile_a, const char* tile_b, const ReadA& read_a,
                                               const ReadB& read_b, float sum[ROWS][COLUMNS][4]) {
#pragma unroll
  for (int step = 0; step < STEPS; ++step) {
    unsigned left[ROWS][2][2];
    unsigned right[COLUMNS][2];
#pragma unroll
    for (int i = 0; i < ROWS; ++i) read_a.read_both(tile_a, i * MMA_M, step, left[i][0], left[i][1]);
#pragma unroll
    for (int j = 0; j < COLUMNS; j += 2) read_b.read_both(tile_b, j * MMA_N, step, right[j], right[j + 1]);
#pragma unroll
    for (int i = 0; i < ROWS; ++i) {
#pragma unroll
      for (int j = 0; j < COLUMNS; ++j) multiply(left[i], right[j], sum[i][j]);
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
        const int row = warp_row + i * MMA_M + ReadA::place_of(lane / 4 + part / 2 * 8);
        const int column = warp_column + j / 2 * 16 + ReadB::place_of(lane % 4 * 2 + part % 2 + j % 2 * 8);
        staged[staged_at(row, column)] = sum[i][j][part];
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
    gemm_tensor(const ELEMENT* a, const ELEMENT* b, const OUTPUT* bias, OUTPUT* c, float* workspace, int m, int n,
                int k, int lda, int ldb, int ldc, long long stride_a, long long stride_b, long long stride_c,
                float alpha, float beta) {
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

  const ReadA read_a(feed_a, warp_row);
  const ReadB read_b(feed_b, warp_column);

  // The first rounds only begin to copy, so that every step stands here once: short products spend their time on
  // reading instructions.
#pragma unroll 1
  for (int tile = 1 - STAGES; tile < tiles; ++tile) {
    if (tile >= 0) {
      await_copies<STAGES - 2>();
      // Behind this place the tile is there, and every warp done with the one before.
      __syncthreads();
    }
    begin_tile(tile + STAGES - 1);
    if (tile >= 0) {
      const char* const stage = stages + tile % STAGES * kStageBytes;
      multiply_tiles(stage, stage + FeedA::kBytes, read_a, read_b, sum);
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
