// How tiles of A and B come into shared memory: as the aligned 16-byte words in which their lines lie, copied without a
// detour through registers, several tiles ahead. A column may begin anywhere, so a line begins somewhere in its first
// word, and has one word more than its length. Whoever reads elements shifts them together
// (gemm_fragments.cu).

__device__ __forceinline__ void copy_word(char* to, const char* from, int bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
               :
               : "r"((unsigned)__cvta_generic_to_shared(to)), "l"(from), "r"(bytes)
               : "memory");
}

__device__ __forceinline__ void copy_whole_word(char* to, const char* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
               :
               : "r"((unsigned)__cvta_generic_to_shared(to)), "l"(from)
               : "memory");
}

__device__ __forceinline__ void end_of_copies() { asm volatile("cp.async.commit_group;" : : : "memory"); }

// Waits until no more than `tiles` of this thread's last ones are still under way.
template <int tiles>
__device__ __forceinline__ void await_copies() {
  asm volatile("cp.async.wait_group %0;" : : "n"(tiles) : "memory");
}

// Tiles of one operand, one after the other along the depth: `lines` of what is contiguous in memory, `length` elements
// each, which lie along the depth or across it. In shared memory a line is followed by one word more, and eight lines
// by another one, or by two, so that lines which are read together begin in different banks. The first COPIERS threads
// of a block copy. REQUIRES: they are at least `lines`, and copy eight lines or a multiple of them at once; a step of
// eight lines, or of TILE_K along the depth, is a multiple of 16 bytes.
template <int lines, int length, bool along_depth>
struct Feed {
  static constexpr int kWords = length * ELEMENT_BYTES / 16;
  static constexpr int kGapWords = ELEMENT_BYTES == 2 ? 1 : 2;
  static constexpr int kBytes = (lines * (kWords + 1) + lines / 8 * kGapWords) * 16;
  static constexpr int kLinesAtOnce = COPIERS / kWords;

  const char* from;  // The next word that this thread copies, and, behind a line, the next one there.
  const char* from_behind;
  long long step;
  long long tile_bytes;
  int outer_left;        // Rows of A or columns of B from the first of the tile to the last of the matrix.
  int shift;             // Of this thread's lines.
  int shift_behind;      // Of the line behind which it copies a word; 0 if there is none.
  unsigned first_shift;  // Of the first line of a tile; it is `line_shift` more for each one behind it.
  unsigned line_shift;

  static __device__ __forceinline__ constexpr int offset_of(int line) {
    return (line * (kWords + 1) + line / 8 * kGapWords) * 16;
  }
  // Bytes between the begin of a line's first word and its first element.
  __device__ __forceinline__ unsigned shift_of_line(int line) const { return (first_shift + line * line_shift) & 15; }

  // Begins to copy the next tile, of which `depth_left` elements of the depth exist.
  __device__ __forceinline__ void copy(int depth_left, char* tile) {
    if (depth_left >= (along_depth ? length : lines) && outer_left >= (along_depth ? lines : length)) {
      copy_all(tile);
    } else {
      copy_some(depth_left, tile);
    }
    from += tile_bytes;
    from_behind += tile_bytes;
  }

  __device__ __forceinline__ void copy_all(char* tile) const {
    const int line = threadIdx.x / kWords;
    char* const to = tile + offset_of(line) + threadIdx.x % kWords * 16;
    const char* next = from;
#pragma unroll
    for (int i = 0; i < lines; i += kLinesAtOnce) {
      if (lines % kLinesAtOnce == 0 || line + i < lines) copy_whole_word(to + offset_of(i), next);
      next += step;
    }
    if (shift_behind > 0) copy_word(tile + offset_of(threadIdx.x) + 16 * kWords, from_behind, shift_behind);
  }

  // Only bytes of the matrix are read, and those before its first in the same word; the others become zeros.
  __device__ __forceinline__ void copy_some(int depth_left, char* tile) const {
    const int across_left = along_depth ? outer_left : depth_left;
    const int line_bytes = min(along_depth ? depth_left : outer_left, length) * ELEMENT_BYTES;
    const int word = threadIdx.x % kWords;
    const int line = threadIdx.x / kWords;
    const int bytes = max(0, min(16, shift + line_bytes - 16 * word));
    char* const to = tile + offset_of(line) + 16 * word;
    const char* next = from;
#pragma unroll
    for (int i = 0; i < lines; i += kLinesAtOnce) {
      if (lines % kLinesAtOnce == 0 || line + i < lines)
        copy_word(to + offset_of(i), next, line + i < across_left ? bytes : 0);
      next += step;
    }
    if (shift_behind > 0) {
      const int behind = max(0, shift_behind + line_bytes - 16 * kWords);
      copy_word(tile + offset_of(threadIdx.x) + 16 * kWords, from_behind, threadIdx.x < across_left ? behind : 0);
    }
  }
};

// `outer` is the first row of A or column of B, of `outer_extent`; `depth` the first step.
template <int lines, int length, bool along_depth>
__device__ __forceinline__ Feed<lines, length, along_depth> feed_of(const ELEMENT* matrix, int leading, int outer,
                                                                    int outer_extent, int depth) {
  typedef Feed<lines, length, along_depth> Made;
  Made feed;
  const char* const begin =
      (const char*)(matrix + (along_depth ? depth + (long long)outer * leading : outer + (long long)depth * leading));
  const long long line_bytes = (long long)leading * ELEMENT_BYTES;
  const char* const first = begin + threadIdx.x / Made::kWords * line_bytes;
  const char* const behind = begin + threadIdx.x * line_bytes;
  feed.shift = shift_of(first);
  feed.shift_behind = threadIdx.x < lines ? shift_of(behind) : 0;
  feed.from = first - feed.shift + threadIdx.x % Made::kWords * 16;
  feed.from_behind = behind - feed.shift_behind + Made::kWords * 16;
  feed.step = Made::kLinesAtOnce * line_bytes;
  feed.tile_bytes = TILE_K * (along_depth ? ELEMENT_BYTES : line_bytes);
  feed.outer_left = outer_extent - outer;
  feed.first_shift = shift_of(begin);
  feed.line_shift = (unsigned)line_bytes & 15;
  return feed;
}
