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
  int shift;  // Bytes from the beginning of `low` to what is wanted,
  int bytes;  // so many of which are elements; the others are zeros.
};

// The elements of `line` from `first` on that are before `extent`. Only aligned words that hold one of them are read, so
// nothing beyond the memory that was allocated.
__device__ __forceinline__ Word load_word(const ELEMENT* line, int first, int extent) {
  const char* begin = (const char*)(line + first);
  Word word;
  word.low = make_uint4(0, 0, 0, 0);
  word.high = make_uint4(0, 0, 0, 0);
  word.shift = (int)((unsigned long long)begin & 15);
  word.bytes = max(0, min(extent - first, WORD_ELEMENTS)) * ELEMENT_BYTES;
  const uint4* words = (const uint4*)(begin - word.shift);
  if (word.bytes > 0) word.low = __ldg(words);
  if (word.shift + word.bytes > 16) word.high = __ldg(words + 1);
  return word;
}

__device__ __forceinline__ uint4 put_together(const Word& word) {
  const uint4 all = shifted(word.low, word.high, word.shift);
  return make_uint4(first_bytes(all.x, word.bytes), first_bytes(all.y, word.bytes - 4),
                    first_bytes(all.z, word.bytes - 8), first_bytes(all.w, word.bytes - 12));
}

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
