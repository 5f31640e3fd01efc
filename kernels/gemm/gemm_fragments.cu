// How fragments of mma.sync come out of shared memory, where lines lie as in memory (gemm_feed.cu): a line begins
// anywhere in its first word, and neighbouring lines begin at different places, so no instruction for whole blocks can
// read them. Each thread reads its own words and shifts them together.

#if KIND == 0
__device__ __forceinline__ unsigned as_tf32(unsigned exact) {
  unsigned value;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(value) : "f"(__uint_as_float(exact)));
  return value;
}
#endif

// Of each step along the depth a thread takes values of its own TILE_K / 4 of the tile: a sum does not ask in which
// order, as long as A and B agree. So the values of a line along the depth that a thread reads are neighbours. Where
// columns begin at odd elements, no two threads of a warp read in one bank: neighbouring lines along the depth begin
// four banks apart, and in other words; the four lines across it that are read at once, eight.
#define DEPTH_OF_THREAD (TILE_K / 4)

// How a thread reads an operand whose lines lie along the depth.
template <class Operand>
struct ReadAlong {
  int offset;
  unsigned bits;

  // `outer`: the first row or column of the warp.
  __device__ __forceinline__ ReadAlong(const Operand& feed, int outer) {
    const int lane = threadIdx.x % 32;
    const unsigned shift = feed.shift_of_line(lane / 4);
    offset = Operand::offset_of(outer) + Operand::offset_of(lane / 4) + lane % 4 * DEPTH_OF_THREAD * ELEMENT_BYTES +
             (shift & 12);
    bits = shift % 4 * 8;
  }

  // 8 rows or columns from `outer` on, which counts from the warp's first; two registers of a fragment.
  __device__ __forceinline__ void read(const char* tile, int outer, int step, unsigned* part) const {
    const unsigned* const words = (const unsigned*)(tile + offset + Operand::offset_of(outer)) + 2 * step;
#if KIND == 0
    part[0] = as_tf32(words[0]);
    part[1] = as_tf32(words[1]);
#else
    part[0] = __funnelshift_r(words[0], words[1], bits);
    part[1] = __funnelshift_r(words[1], words[2], bits);
#endif
  }

  // 16 rows or columns: those that begin with the first, and eight further ones.
  __device__ __forceinline__ void read_both(const char* tile, int outer, int step, unsigned* first,
                                            unsigned* second) const {
    read(tile, outer, step, first);
    read(tile, outer + 8, step, second);
  }

  // Where a result lies that a fragment has at `at` of 16.
  static __device__ __forceinline__ int place_of(int at) { return at; }
};

// How a thread reads an operand whose lines lie across the depth.
template <class Operand>
struct ReadAcross {
  int offset;
  unsigned shifts[8];  // Of lines, which repeat after eight.

  __device__ __forceinline__ ReadAcross(const Operand& feed, int outer) {
    const int lane = threadIdx.x % 32;
    offset = Operand::offset_of(lane % 4 * DEPTH_OF_THREAD) + outer * ELEMENT_BYTES + lane / 4 * 4;
#pragma unroll
    for (int i = 0; i < 8; ++i)
      shifts[i] = feed.shift_of_line((DEPTH_OF_THREAD % 8 ? lane % 4 * DEPTH_OF_THREAD : 0) + i);
  }

#if KIND == 0
  __device__ __forceinline__ void read_both(const char* tile, int outer, int step, unsigned* first,
                                            unsigned* second) const {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int line = 2 * step + i;
      const unsigned* const words =
          (const unsigned*)(tile + offset + Operand::offset_of(line) + outer * ELEMENT_BYTES + shifts[line % 8]);
      first[i] = as_tf32(words[0]);
      second[i] = as_tf32(words[8]);
    }
  }
  static __device__ __forceinline__ int place_of(int at) { return at; }
#else
  // Two neighbours at once, so that a fragment has every other row or column first.
  __device__ __forceinline__ void read_both(const char* tile, int outer, int step, unsigned* first,
                                            unsigned* second) const {
    unsigned pairs[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int line = 4 * step + i;
      const unsigned shift = shifts[line % 8];
      const unsigned* const words =
          (const unsigned*)(tile + offset + Operand::offset_of(line) + outer * ELEMENT_BYTES + (shift & 12));
      pairs[i] = words[0];
      if (shift & 2) pairs[i] = __funnelshift_r(pairs[i], words[1], 16);
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      first[i] = __byte_perm(pairs[2 * i], pairs[2 * i + 1], 0x5410);
      second[i] = __byte_perm(pairs[2 * i], pairs[2 * i + 1], 0x7632);
    }
  }
  static __device__ __forceinline__ int place_of(int at) { return at % 8 * 2 + at / 8; }
#endif
};
