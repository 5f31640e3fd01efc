// Elements of A and B as 16-byte words. A column may begin anywhere: what lies across two words is shifted together.

#define ELEMENT_BYTES ((int)sizeof(ELEMENT))
#define WORD_ELEMENTS (16 / ELEMENT_BYTES)

// The 16 bytes that begin `shift` bytes into the first of two words.
__device__ __forceinline__ uint4 shifted(uint4 low, uint4 high, unsigned shift) {
  unsigned part[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
  if (shift & 8) {
#pragma unroll
    for (int i = 0; i < 6; ++i) part[i] = part[i + 2];
  }
  if (shift & 4) {
#pragma unroll
    for (int i = 0; i < 5; ++i) part[i] = part[i + 1];
  }
  const unsigned bits = (shift & 3) * 8;
  return make_uint4(__funnelshift_r(part[0], part[1], bits), __funnelshift_r(part[1], part[2], bits),
                    __funnelshift_r(part[2], part[3], bits), __funnelshift_r(part[3], part[4], bits));
}

__device__ __forceinline__ unsigned first_bytes(unsigned part, int bytes) {
  return bytes >= 4 ? part : bytes <= 0 ? 0u : part & ((1u << 8 * bytes) - 1);
}

// What was read for 16 bytes, before it is put together. Between the two, other work hides the time that reading takes.
struct Word {
  uint4 low;
  uint4 high;
};

// Reads `bytes` from `begin` on, 16 at most, `shift` bytes into an aligned word. Only words that hold some of them are
// read, so nothing beyond the memory that was allocated.
__device__ __forceinline__ Word load_bytes(const char* begin, int shift, int bytes) {
  Word word;
  word.low = make_uint4(0, 0, 0, 0);
  word.high = make_uint4(0, 0, 0, 0);
  const uint4* words = (const uint4*)(begin - shift);
  if (bytes > 0) word.low = __ldg(words);
  if (shift + bytes > 16) word.high = __ldg(words + 1);
  return word;
}

// These bytes, and zeros behind them.
__device__ __forceinline__ uint4 put_together(const Word& word, int shift, int bytes) {
  uint4 all = word.low;
  if (shift != 0) all = shifted(word.low, word.high, shift);
  if (bytes < 16) {
    all = make_uint4(first_bytes(all.x, bytes), first_bytes(all.y, bytes - 4), first_bytes(all.z, bytes - 8),
                     first_bytes(all.w, bytes - 12));
  }
  return all;
}

__device__ __forceinline__ int shift_of(const void* place) { return (int)((unsigned long long)place & 15); }

// Of a word that begins `left` elements before the end.
__device__ __forceinline__ int bytes_of(int left) { return max(0, min(left, WORD_ELEMENTS)) * ELEMENT_BYTES; }

__device__ __forceinline__ void unpack(uint4 word, REAL* values) {
  const unsigned part[4] = {word.x, word.y, word.z, word.w};
#if KIND == 3
#pragma unroll
  for (int i = 0; i < 2; ++i) values[i] = __hiloint2double(part[2 * i + 1], part[2 * i]);
#elif KIND == 0
#pragma unroll
  for (int i = 0; i < 4; ++i) values[i] = __uint_as_float(part[i]);
#else
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    values[2 * i] = real_of((ELEMENT)(part[i] & 0xffff));
    values[2 * i + 1] = real_of((ELEMENT)(part[i] >> 16));
  }
#endif
}
