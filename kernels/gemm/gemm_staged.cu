// How the sums of a block leave it: they are laid out in shared memory as C is, so that neighbouring threads write
// neighbouring elements. Where SPLIT_K blocks that share a tile of C are a cluster (CLUSTER), each of them reads the
// others' sums from there and writes its part of the columns.

#if CLUSTER
#define RANKS SPLIT_K
#else
#define RANKS 1
#endif
// Eight rows of a column are followed by a gap, and columns begin where threads that hold parts of a product write
// different banks.
#define STAGED_ROWS (TILE_M + TILE_M / 8)
#define STAGED_PITCH (STAGED_ROWS + (20 - STAGED_ROWS % 16) % 16)
#define STAGED_BYTES (4 * TILE_N * STAGED_PITCH)

__device__ __forceinline__ int staged_at(unsigned row, int column) { return column * STAGED_PITCH + row + row / 8; }

__device__ __forceinline__ void await_cluster() {
#if CLUSTER
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" : : : "memory");
#endif
}

__device__ __forceinline__ int rank_in_cluster() {
#if CLUSTER
  int rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
#else
  return 0;
#endif
}

// Of a column that a warp of this block writes: the first, and how far the next one is away.
__device__ __forceinline__ int first_own_column() { return rank_in_cluster() * (THREADS / 32) + threadIdx.x / 32; }
#define OWN_COLUMNS_STEP (RANKS * (THREADS / 32))

// Adds the sums of all blocks of a cluster, in one order, in this block's own columns, which no other one reads.
__device__ __forceinline__ void gather_sums(float* staged) {
#if CLUSTER
  await_cluster();
  for (int column = first_own_column(); column < TILE_N; column += OWN_COLUMNS_STEP) {
    for (int at = threadIdx.x % 32 * 4; at < STAGED_ROWS; at += 128) {
      float4* const place = (float4*)(staged + column * STAGED_PITCH + at);
      const unsigned own = (unsigned)__cvta_generic_to_shared(place);
      float4 part[RANKS];
#pragma unroll
      for (int rank = 0; rank < RANKS; ++rank) {
        unsigned there;
        asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(own), "r"(rank));
        asm volatile("ld.shared::cluster.v4.f32 {%0,%1,%2,%3}, [%4];"
                     : "=f"(part[rank].x), "=f"(part[rank].y), "=f"(part[rank].z), "=f"(part[rank].w)
                     : "r"(there));
      }
      float4 sum = part[0];
#pragma unroll
      for (int rank = 1; rank < RANKS; ++rank) {
        sum.x += part[rank].x;
        sum.y += part[rank].y;
        sum.z += part[rank].z;
        sum.w += part[rank].w;
      }
      *place = sum;
    }
    __syncwarp();
  }
  // A block must not end before the others have read what is in its memory.
  await_cluster();
#endif
}

// Writes a tile of C that begins at (`row`, `column`), or this block's part of it. REQUIRES: all sums are staged, and
// gathered.
__device__ __forceinline__ void write_tile(const Results& results, const float* staged, int row, int column, int m,
                                           int n) {
  const int lane = threadIdx.x % 32;
  const int columns = min(TILE_N, n - column);
#pragma unroll 4
  for (int at = first_own_column(); at < columns; at += OWN_COLUMNS_STEP) {
#pragma unroll
    for (int i = lane; i < TILE_M; i += 32) {
      if (row + i < m) put(results, row + i, column + at, staged[staged_at(i, at)]);
    }
  }
}
