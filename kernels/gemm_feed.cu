// How tiles of A and B come into shared memory: as the aligned 16-byte words in which their lines lie, copied without a
// detour through registers, several tiles ahead. A column may begin anywhere, so a line begins somewhere in its first
// word, and has one word more than its length. Before a tile is multiplied its lines are moved to the begin of their
// first words.

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

// Tiles of one operand, one after the other along the depth: `lines` of what is contiguous in memory, `length` elements
// each, which lie along the depth or across it. In shared memory a line is followed by one word more, and eight lines by
// another one: so neighbouring lines, and every eighth line, begin in different banks.
// REQUIRES: THREADS is at least `lines`, and THREADS / 32 divides eight; the threads copy eight lines or a multiple of
// them at once; a step of eight lines, or of TILE_K along the depth, is a multiple of 16 bytes.
template <int lines, int length, bool along_depth>
struct Feed {
  static constexpr int kWords = length * ELEMENT_BYTES / 16;
  static constexpr int kBytes = (lines * (kWords + 1) + lines / 8) * 16;
  static constexpr int kLinesAtOnce = THREADS / kWords;

  const char* from;  // The next word that this thread copies, and, behind a line, the next one there.
  const char* from_behind;
  long long step;
  long long tile_bytes;
  int outer_left;  // Rows of A or columns of B from the first of the tile to the last of the matrix.
  int shift;       // Of this thread's lines.
  int shift_behind;  // Of the line behind which it copies a word; 0 if there is none.
  unsigned warp_shift;  // Of the first lines that this warp moves; it is `line_shift` more for the next ones.
  unsigned line_shift;
  int lane_offset;  // Of the first words that this lane moves.

  static __device__ __forceinline__ int offset_of(int line) { return (line * (kWords + 1) + line / 8) * 16; }

  // Where element `at` of a line lies in a tile that is straight.
  static __device__ __forceinline__ const ELEMENT* place_of(const char* tile, int line, int at) {
    return (const ELEMENT*)(tile + offset_of(line)) + at;
  }

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
      if (lines % kLinesAtOnce == 0 || line < lines) copy_whole_word(to + offset_of(i), next);
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
      if (lines % kLinesAtOnce == 0 || line < lines) copy_word(to + offset_of(i), next, line + i < across_left ? bytes : 0);
      next += step;
    }
    if (shift_behind > 0) {
      const int behind = max(0, shift_behind + line_bytes - 16 * kWords);
      copy_word(tile + offset_of(threadIdx.x) + 16 * kWords, from_behind, threadIdx.x < across_left ? behind : 0);
    }
  }

  // Moves the lines of a tile that is there to where their first words begin. Every eighth line is moved alike, and is one
  // warp's, so that no word is read after another one has been written there. Lanes that the memory serves together read
  // runs of words of a line, and lines, that are in different banks.
  static constexpr int kEven = lines * kWords / 256;  // A word for every lane, and more.
  static constexpr int kMost = kWords < 4 ? kWords : 4;
  static constexpr int kRun = kEven < 1 ? 1 : kEven < kMost ? kEven : kMost;
  static constexpr int kRuns = kWords / kRun;
  static constexpr int kLines = 32 / kRuns;  // Every eighth, of a warp at once.
  static constexpr int kNearRuns = 8 / kRun < kRuns ? 8 / kRun : kRuns;
  static constexpr int kNearLines = 8 / kNearRuns < kLines ? 8 / kNearRuns : kLines;

  static __device__ __forceinline__ int line_of_lane() {
    const int lane = threadIdx.x % 32;
    return 8 * (lane / kNearRuns % kNearLines + lane / (kNearRuns * kNearLines) / (kRuns / kNearRuns) * kNearLines);
  }
  static __device__ __forceinline__ int run_of_lane() {
    const int lane = threadIdx.x % 32;
    return lane % kNearRuns + lane / (kNearRuns * kNearLines) % (kRuns / kNearRuns) * kNearRuns;
  }

  __device__ __forceinline__ void straighten(char* tile) const {
#pragma unroll
    for (int i = 0; i < (lines / 8 + kLines - 1) / kLines * 8; i += THREADS / 32) {
      const unsigned amount = (warp_shift + i % 8 * line_shift) & 15;
      if (amount == 0) continue;
      uint4* const place = (uint4*)(tile + lane_offset + i % 8 * (kWords + 1) * 16 + offset_of(i / 8 * 8 * kLines));
      uint4 raw[kRun + 1] = {};
      uint4 words[kRun];
      const bool exists = kLines <= lines / 8 || line_of_lane() < lines;
      if (exists) {
#pragma unroll
        for (int j = 0; j <= kRun; ++j) raw[j] = place[j];
      }
      const unsigned bits = amount % 4 * 8;
      switch (amount / 4) {
        case 0: shift_words<kRun, 0>(raw, bits, words); break;
        case 1: shift_words<kRun, 1>(raw, bits, words); break;
        case 2: shift_words<kRun, 2>(raw, bits, words); break;
        default: shift_words<kRun, 3>(raw, bits, words); break;
      }
      __syncwarp();
      if (exists) {
#pragma unroll
        for (int j = 0; j < kRun; ++j) place[j] = words[j];
      }
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
  feed.line_shift = (unsigned)line_bytes & 15;
  // Of a warp, and known to be.
  const int warp = __shfl_sync(~0u, threadIdx.x / 32, 0);
  feed.warp_shift = shift_of(begin) + warp * feed.line_shift;
  feed.lane_offset = Made::offset_of(warp + Made::line_of_lane()) + Made::run_of_lane() * Made::kRun * 16;
  return feed;
}
