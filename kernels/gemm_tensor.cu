// Products on tensor cores: bf16 and f16 with sums in f32, and f32 rounded to tf32 where the problem allows it. A block
// computes TILE_M x TILE_N of C; while its warps multiply one tile of depth TILE_K, its threads fetch the next. Columns
// may begin anywhere (gemm_words.cu), so no operand is copied before.

#define THREADS (32 * WARPS_M * WARPS_N)
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

// A tile lies in shared memory as its matrix does in memory: lines of what is contiguous there, with a gap behind each
// that keeps the words of neighbouring lines in different banks.
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
#define PITCH_A (LENGTH_A + PAD_A)
#define PITCH_B (LENGTH_B + PAD_B)
#define WORDS_A (LINES_A * LENGTH_A / WORD_ELEMENTS / THREADS)
#define WORDS_B (LINES_B * LENGTH_B / WORD_ELEMENTS / THREADS)

// Where this thread reads its words of the next tile. A step in depth is a multiple of 16 bytes, so that the place of a
// column within words stays.
template <int words, bool along_depth>
struct Feed {
  const char* begin[words];
  int shift[words];
  int outer_bytes[words];  // Of a word, as far as the direction that is not the depth goes.
  int left[words];         // From where the word begins to the end of the depth.
  long long step;

  __device__ __forceinline__ int bytes(int i) const {
    return along_depth ? min(outer_bytes[i], bytes_of(left[i])) : left[i] > 0 ? outer_bytes[i] : 0;
  }
};

// `outer` is the first row of A or column of B, of `outer_extent`; `depth` the first step, before `depth_end`.
template <int words, int length, bool along_depth>
__device__ __forceinline__ Feed<words, along_depth> feed_of(const ELEMENT* matrix, int leading, int outer,
                                                            int outer_extent, int depth, int depth_end) {
  Feed<words, along_depth> feed;
#pragma unroll
  for (int i = 0; i < words; ++i) {
    const int word = i * THREADS + threadIdx.x;
    const int line = word / (length / WORD_ELEMENTS);
    const int first = word % (length / WORD_ELEMENTS) * WORD_ELEMENTS;
    const int at_outer = outer + (along_depth ? line : first);
    const int at_depth = depth + (along_depth ? first : line);
    feed.begin[i] = (const char*)(matrix + (along_depth ? at_depth + (long long)at_outer * leading
                                                        : at_outer + (long long)at_depth * leading));
    feed.shift[i] = shift_of(feed.begin[i]);
    feed.outer_bytes[i] = along_depth ? (at_outer < outer_extent ? 16 : 0) : bytes_of(outer_extent - at_outer);
    feed.left[i] = depth_end - at_depth;
  }
  feed.step = TILE_K * ELEMENT_BYTES * (along_depth ? 1ll : (long long)leading);
  return feed;
}

template <int words, bool along_depth>
__device__ __forceinline__ void fetch(const Feed<words, along_depth>& feed, Word* fetched) {
#pragma unroll
  for (int i = 0; i < words; ++i) fetched[i] = load_bytes(feed.begin[i], feed.shift[i], feed.bytes(i));
}

template <int words, bool along_depth>
__device__ __forceinline__ void advance(Feed<words, along_depth>& feed) {
#pragma unroll
  for (int i = 0; i < words; ++i) {
    feed.begin[i] += feed.step;
    feed.left[i] -= TILE_K;
  }
}

template <int words, int length, int pitch, bool along_depth>
__device__ __forceinline__ void keep(const Feed<words, along_depth>& feed, const Word* fetched, ELEMENT* tile) {
#pragma unroll
  for (int i = 0; i < words; ++i) {
    const int word = i * THREADS + threadIdx.x;
    const int line = word / (length / WORD_ELEMENTS);
    *(uint4*)(tile + line * pitch + word % (length / WORD_ELEMENTS) * WORD_ELEMENTS) =
        put_together(fetched[i], feed.shift[i], feed.bytes(i));
  }
}

#if KIND == 0
// The value of a tile at `outer` (row of A, column of B) and `depth`, rounded to tf32.
template <bool along_depth, int pitch>
__device__ __forceinline__ unsigned tf32_at(const ELEMENT* tile, int outer, int depth) {
  unsigned value;
  const float exact = along_depth ? tile[outer * pitch + depth] : tile[depth * pitch + outer];
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(value) : "f"(exact));
  return value;
}

__device__ __forceinline__ void load_rows(const ELEMENT* tile, int row, int depth, unsigned* part) {
  const int outer = row + threadIdx.x % 32 / 4;
  const int inner = depth + threadIdx.x % 4;
#pragma unroll
  for (int i = 0; i < 4; ++i) part[i] = tf32_at<TRANS_A == 1, PITCH_A>(tile, outer + i % 2 * 8, inner + i / 2 * 4);
}

// Two neighbouring blocks of columns.
__device__ __forceinline__ void load_columns(const ELEMENT* tile, int column, int depth, unsigned* part) {
  const int outer = column + threadIdx.x % 32 / 4;
  const int inner = depth + threadIdx.x % 4;
#pragma unroll
  for (int i = 0; i < 4; ++i) part[i] = tf32_at<TRANS_B == 0, PITCH_B>(tile, outer + i / 2 * 8, inner + i % 2 * 4);
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

// The first two blocks are 8 rows each of the first 8 in depth, the others of the next 8.
__device__ __forceinline__ void load_rows(const ELEMENT* tile, int row, int depth, unsigned* part) {
  const int lane = threadIdx.x % 32;
#if TRANS_A
  load_blocks<false>(tile + (row + lane % 16) * PITCH_A + depth + lane / 16 * 8, part);
#else
  load_blocks<true>(tile + (depth + lane / 16 * 8 + lane % 8) * PITCH_A + row + lane / 8 % 2 * 8, part);
#endif
}

// The first two blocks are the same 8 columns at two depths, the others the next 8 columns.
__device__ __forceinline__ void load_columns(const ELEMENT* tile, int column, int depth, unsigned* part) {
  const int lane = threadIdx.x % 32;
#if TRANS_B
  load_blocks<true>(tile + (depth + lane % 16) * PITCH_B + column + lane / 16 * 8, part);
#else
  load_blocks<false>(tile + (column + lane / 16 * 8 + lane % 8) * PITCH_B + depth + lane / 8 % 2 * 8, part);
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
__device__ __forceinline__ void multiply_tiles(const ELEMENT* tile_a, const ELEMENT* tile_b, int warp_row,
                                               int warp_column, float sum[ROWS][COLUMNS][4]) {
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

__device__ __forceinline__ void put_sums(const Results& results, int first_row, int first_column, int m, int n,
                                         float sum[ROWS][COLUMNS][4]) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int j = 0; j < COLUMNS; ++j) {
#pragma unroll
    for (int i = 0; i < ROWS; ++i) {
#pragma unroll
      for (int part = 0; part < 4; ++part) {
        const int row = first_row + i * MMA_M + lane / 4 + part / 2 * 8;
        const int column = first_column + j * MMA_N + lane % 4 * 2 + part % 2;
        if (row < m && column < n) put(results, row, column, sum[i][j][part]);
      }
    }
  }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    gemm_tensor(const ELEMENT* a, const ELEMENT* b, const OUTPUT* bias, OUTPUT* c, float* workspace, int m, int n, int k,
                int lda, int ldb, int ldc, long long stride_a, long long stride_b, long long stride_c, float alpha,
                float beta) {
  extern __shared__ uint4 shared_words[];
  ELEMENT* const tiles_a = (ELEMENT*)shared_words;
  ELEMENT* const tiles_b = tiles_a + 2 * LINES_A * PITCH_A;
  const int matrix = blockIdx.z / SPLIT_K;
  const int depth = ((k + TILE_K - 1) / TILE_K + SPLIT_K - 1) / SPLIT_K * TILE_K;
  const int first_k = min((long long)k, (long long)(blockIdx.z % SPLIT_K) * depth);
  const int end_k = min((long long)k, (long long)first_k + depth);
  const int row = blockIdx.x * TILE_M;
  const int column = blockIdx.y * TILE_N;
  auto feed_a = feed_of<WORDS_A, LENGTH_A, TRANS_A == 1>(a + matrix * stride_a, lda, row, m, first_k, end_k);
  auto feed_b = feed_of<WORDS_B, LENGTH_B, TRANS_B == 0>(b + matrix * stride_b, ldb, column, n, first_k, end_k);
  const int warp_row = threadIdx.x / 32 % WARPS_M * WARP_M;
  const int warp_column = threadIdx.x / 32 / WARPS_M * WARP_N;
  Word next_a[WORDS_A];
  Word next_b[WORDS_B];
  float sum[ROWS][COLUMNS][4] = {};

  fetch(feed_a, next_a);
  fetch(feed_b, next_b);
  int half = 0;
  for (int at = first_k; at < end_k; at += TILE_K) {
    ELEMENT* const tile_a = tiles_a + half * LINES_A * PITCH_A;
    ELEMENT* const tile_b = tiles_b + half * LINES_B * PITCH_B;
    keep<WORDS_A, LENGTH_A, PITCH_A>(feed_a, next_a, tile_a);
    keep<WORDS_B, LENGTH_B, PITCH_B>(feed_b, next_b, tile_b);
    // The other half is written next, when every warp is past this place and so done with it.
    __syncthreads();
    // In a branch, out of which the compiler does not move what is read to where it is needed.
    if (at + TILE_K < end_k) {
      advance(feed_a);
      advance(feed_b);
      fetch(feed_a, next_a);
      fetch(feed_b, next_b);
    }
    multiply_tiles(tile_a, tile_b, warp_row, warp_column, sum);
    half ^= 1;
  }
  put_sums(results_of(c, bias, workspace, m, n, ldc, stride_c, alpha, beta), row + warp_row, column + warp_column, m, n,
           sum);
}
