// Products with few columns or few rows: a long matrix, read once from end to end, times one with FEW lines or less, which
// stays in the caches. SIDE 0: A is long and n is few; SIDE 1: B is long and m is few. In the long matrix either the
// depth is contiguous in memory (ALONG_K) or the other direction is. K_WARPS warps of a block share its results and add
// their sums in one order.

#if SIDE == 0
#define ALONG_K TRANS_A
#define FEW_ALONG_K (!TRANS_B)
#else
#define ALONG_K (!TRANS_B)
#define FEW_ALONG_K TRANS_A
#endif
#define THREADS (32 * OUTER_WARPS * K_WARPS)
// Of a warp and of a block.
#if ALONG_K
#define WARP_LINES LINES
#else
#define WARP_LINES (32 * WORD_ELEMENTS)
#endif
#define BLOCK_LINES (WARP_LINES * OUTER_WARPS)

// Elements of a line from `first` on that are before `extent`, and where they were read.
struct Piece {
  Word word;
  int shift;
  int bytes;
};

__device__ __forceinline__ Piece load_piece(const ELEMENT* line, int first, int extent) {
  Piece piece;
  piece.shift = shift_of(line + first);
  piece.bytes = bytes_of(extent - first);
  piece.word = load_bytes((const char*)(line + first), piece.shift, piece.bytes);
  return piece;
}

__device__ __forceinline__ void unpack_piece(const Piece& piece, REAL* values) {
  unpack(put_together(piece.word, piece.shift, piece.bytes), values);
}

struct Operands {
  const ELEMENT* large;
  const ELEMENT* few;
  long long large_leading;
  long long few_leading;
  int outer;  // Lines of the long matrix that are results.
  int count;  // Of the other one.
  int first_k;
  int end_k;
};

__device__ __forceinline__ REAL few_at(const Operands& operands, int k, int which) {
  if (which >= operands.count || k >= operands.end_k) return 0;
  return real_of(FEW_ALONG_K ? operands.few[k + which * operands.few_leading]
                             : operands.few[which + k * operands.few_leading]);
}

__device__ __forceinline__ void load_few(const Operands& operands, int k, int which, REAL* values) {
  if (FEW_ALONG_K) {
    const bool exists = which < operands.count;
    unpack_piece(
        load_piece(operands.few + (exists ? which : 0) * operands.few_leading, k, exists ? operands.end_k : 0), values);
  } else {
#pragma unroll
    for (int i = 0; i < WORD_ELEMENTS; ++i) values[i] = few_at(operands, k + i, which);
  }
}

#if ALONG_K
#define SUMS LINES
// Lanes lie along the depth; the sums of a warp are added at the end.
__device__ __forceinline__ void accumulate(const Operands& operands, int first, int k_warp, REAL sum[SUMS][FEW]) {
  const int lane = threadIdx.x % 32;
  for (int k = operands.first_k + (k_warp * 32 + lane) * WORD_ELEMENTS; k < operands.end_k;
       k += K_WARPS * 32 * WORD_ELEMENTS) {
    Piece pieces[LINES];
#pragma unroll
    for (int line = 0; line < LINES; ++line) {
      const bool exists = first + line < operands.outer;
      pieces[line] = load_piece(operands.large + (exists ? first + line : 0) * operands.large_leading, k,
                              exists ? operands.end_k : 0);
    }
    REAL large[LINES][WORD_ELEMENTS];
#pragma unroll
    for (int line = 0; line < LINES; ++line) unpack_piece(pieces[line], large[line]);
#pragma unroll
    for (int which = 0; which < FEW; ++which) {
      REAL few[WORD_ELEMENTS];
      load_few(operands, k, which, few);
#pragma unroll
      for (int line = 0; line < LINES; ++line) {
#pragma unroll
        for (int i = 0; i < WORD_ELEMENTS; ++i) sum[line][which] = fma(large[line][i], few[i], sum[line][which]);
      }
    }
  }
#pragma unroll
  for (int line = 0; line < LINES; ++line) {
#pragma unroll
    for (int which = 0; which < FEW; ++which) {
#pragma unroll
      for (int step = 16; step > 0; step /= 2) sum[line][which] += __shfl_xor_sync(~0u, sum[line][which], step);
    }
  }
}
#else
#define SUMS WORD_ELEMENTS
// Lanes lie along the results; each warp takes every K_WARPS-th step in depth, LINES of them at a time.
__device__ __forceinline__ void accumulate(const Operands& operands, int first, int k_warp, REAL sum[SUMS][FEW]) {
  for (int k = operands.first_k + k_warp; k < operands.end_k; k += K_WARPS * LINES) {
    Piece pieces[LINES];
#pragma unroll
    for (int line = 0; line < LINES; ++line) {
      const int at = k + line * K_WARPS;
      const bool exists = at < operands.end_k;
      pieces[line] = load_piece(operands.large + (exists ? at : 0) * operands.large_leading, first,
                              exists ? operands.outer : 0);
    }
#pragma unroll
    for (int line = 0; line < LINES; ++line) {
      REAL large[WORD_ELEMENTS];
      unpack_piece(pieces[line], large);
#pragma unroll
      for (int which = 0; which < FEW; ++which) {
        const REAL few = few_at(operands, k + line * K_WARPS, which);
#pragma unroll
        for (int i = 0; i < WORD_ELEMENTS; ++i) sum[i][which] = fma(large[i], few, sum[i][which]);
      }
    }
  }
}
#endif

// Sums of all warps of the block; of one lane of each warp where lanes lie along the depth.
__device__ __forceinline__ void put_sums(const Results& results, const Operands& operands, int first, int k_warp,
                                         REAL sum[SUMS][FEW]) {
  __shared__ REAL shared_sums[K_WARPS][OUTER_WARPS * (ALONG_K ? 1 : 32)][SUMS];
  const int place = ALONG_K ? threadIdx.x / 32 % OUTER_WARPS : threadIdx.x % (32 * OUTER_WARPS);
  const bool holds = !ALONG_K || threadIdx.x % 32 == 0;
#pragma unroll
  for (int which = 0; which < FEW; ++which) {
    if (K_WARPS > 1) {
      __syncthreads();
      for (int i = 0; holds && i < SUMS; ++i) shared_sums[k_warp][place][i] = sum[i][which];
      __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < SUMS; ++i) {
      REAL total = K_WARPS > 1 ? shared_sums[0][place][i] : sum[i][which];
      for (int other = 1; other < K_WARPS; ++other) total += shared_sums[other][place][i];
      if (!holds || k_warp != 0 || first + i >= operands.outer || which >= operands.count) continue;
      put(results, SIDE == 0 ? first + i : which, SIDE == 0 ? which : first + i, total);
    }
  }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    gemm_few(const ELEMENT* a, const ELEMENT* b, const OUTPUT* bias, OUTPUT* c, REAL* workspace, int m, int n, int k,
             int lda, int ldb, int ldc, long long stride_a, long long stride_b, long long stride_c, REAL alpha,
             REAL beta) {
  const int matrix = blockIdx.z / SPLIT_K;
  // Splits begin at whole words.
  const int depth = ((k + SPLIT_K - 1) / SPLIT_K + WORD_ELEMENTS - 1) / WORD_ELEMENTS * WORD_ELEMENTS;
  a += matrix * stride_a;
  b += matrix * stride_b;
  Operands operands = {SIDE == 0 ? a : b, SIDE == 0 ? b : a, SIDE == 0 ? lda : ldb, SIDE == 0 ? ldb : lda,
                       SIDE == 0 ? m : n, SIDE == 0 ? n : m, 0, 0};
  operands.first_k = (int)min((long long)k, (long long)(blockIdx.z % SPLIT_K) * depth);
  operands.end_k = (int)min((long long)k, (long long)operands.first_k + depth);
  const int outer_warp = threadIdx.x / 32 % OUTER_WARPS;
  const int k_warp = threadIdx.x / 32 / OUTER_WARPS;
  const int first = blockIdx.x * BLOCK_LINES + outer_warp * WARP_LINES + (ALONG_K ? 0 : threadIdx.x % 32 * WORD_ELEMENTS);
  REAL sum[SUMS][FEW] = {};
  accumulate(operands, first, k_warp, sum);
  put_sums(results_of(c, bias, workspace, m, n, ldc, stride_c, alpha, beta), operands, first, k_warp, sum);
}
