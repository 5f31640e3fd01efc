// VEC numbers of a tensor as a vector of f32. KIND is 0 for f32, 1 for bf16, 2 for f16. An access
// needs no alignment but that of one number.

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)

#if VEC == 1
typedef float VECTOR;
typedef uint BITS;
#define AS_FLOATS as_float
#define AS_BITS as_uint
#define TO_BITS convert_uint
#define TO_WORDS convert_ushort
#define LOAD_NUMBERS(p) (*(p))
#define STORE_NUMBERS(value, p) (*(p) = (value))
typedef ushort WORDS;
#define LOAD_HALVES(p) vload_half(0, p)
#define STORE_HALVES(value, p) vstore_half_rte(value, 0, p)
#else
typedef JOIN(float, VEC) VECTOR;
typedef JOIN(uint, VEC) BITS;
#define AS_FLOATS JOIN(as_float, VEC)
#define AS_BITS JOIN(as_uint, VEC)
#define TO_BITS JOIN(convert_uint, VEC)
#define TO_WORDS JOIN(convert_ushort, VEC)
#define LOAD_NUMBERS(p) JOIN(vload, VEC)(0, p)
#define STORE_NUMBERS(value, p) JOIN(vstore, VEC)(value, 0, p)
typedef JOIN(ushort, VEC) WORDS;
#define LOAD_HALVES(p) JOIN(vload_half, VEC)(0, p)
#define STORE_HALVES(value, p) JOIN(JOIN(vstore_half, VEC), _rte)(value, 0, p)
#endif

#if KIND == 0
#define ELEMENT float
#define LOAD(p) LOAD_NUMBERS(p)
#define STORE(value, p) STORE_NUMBERS(value, p)
#define NUMBER_AT(p) (*(p))
#define PUT_NUMBER(value, p) (*(p) = (value))
#elif KIND == 1
#define ELEMENT ushort
#define LOAD(p) AS_FLOATS(TO_BITS(LOAD_NUMBERS(p)) << 16)
#define STORE(value, p) STORE_NUMBERS(narrow_vector(value), p)
#define NUMBER_AT(p) as_float((uint) * (p) << 16)
#define PUT_NUMBER(value, p) (*(p) = narrow_number(value))

// To nearest, ties to even; a NaN stays one.
ushort narrow_number(float value) {
  const uint bits = as_uint(value);
  const uint rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  return (ushort)(isnan(value) ? bits >> 16 | 0x40 : rounded);
}
#if VEC == 1
#define narrow_vector narrow_number
#else
WORDS narrow_vector(VECTOR value) {
  const BITS bits = AS_BITS(value);
  const BITS rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
  return TO_WORDS(select(rounded, bits >> 16 | 0x40u, isnan(value)));
}
#endif
#else
#define ELEMENT ushort
#define LOAD(p) widen_vector(LOAD_NUMBERS(p))
#define STORE(value, p) STORE_NUMBERS(narrow_vector(value), p)
#define NUMBER_AT(p) vload_half(0, (__global const half*)(p))
#define PUT_NUMBER(value, p) vstore_half_rte(value, 0, (__global half*)(p))

// Through a variable: PoCL 3.1 takes it that vectors of halves in memory are aligned.
VECTOR widen_vector(WORDS words) { return LOAD_HALVES((const half*)&words); }
WORDS narrow_vector(VECTOR value) {
  WORDS words;
  STORE_HALVES(value, (half*)&words);
  return words;
}
#endif

// The first `lanes` of VEC numbers, which may be none or more than VEC, and zeros behind them.
VECTOR load_lanes(__global const ELEMENT* from, int lanes) {
  if (lanes >= VEC) return LOAD(from);
  float numbers[VEC];
  for (int lane = 0; lane < VEC; ++lane) {
    numbers[lane] = lane < lanes ? NUMBER_AT(from + lane) : 0.0f;
  }
  return LOAD_NUMBERS(numbers);
}

void store_lanes(VECTOR value, __global ELEMENT* to, int lanes) {
  if (lanes >= VEC) {
    STORE(value, to);
    return;
  }
  float numbers[VEC];
  STORE_NUMBERS(value, numbers);
  for (int lane = 0; lane < lanes; ++lane) PUT_NUMBER(numbers[lane], to + lane);
}

// 1 for each of the first `lanes` lanes, 0 for the others.
VECTOR weights_of(int lanes) {
  if (lanes >= VEC) return (VECTOR)(1.0f);
  float numbers[VEC];
  for (int lane = 0; lane < VEC; ++lane) numbers[lane] = lane < lanes ? 1.0f : 0.0f;
  return LOAD_NUMBERS(numbers);
}
