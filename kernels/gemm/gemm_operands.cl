// C = activation(alpha * op(A) * op(B) + beta * C + bias), column-major, for tiled_product.cl: u is the row of C,
// v its column, z the matrix of the batch.

#define PRODUCT_ARGUMENTS                                                                     \
  __global const REAL *a, long a_offset, __global const REAL *b, long b_offset,               \
      __global const REAL *bias, long bias_offset, __global REAL *c, long c_offset, int m,    \
      int n, int k, int lda, int ldb, int ldc, long stride_a, long stride_b, long stride_c,   \
      REAL alpha, REAL beta

#define U_SCRATCH
#define PRODUCT_BEGIN                \
  a += a_offset + z * STRIDE_A;      \
  b += b_offset + z * STRIDE_B;      \
  c += c_offset + z * STRIDE_C;

#define EXTENT_U M
#define EXTENT_V N
#define EXTENT_K K
#define SETUP_U(t, u)
#define ROW_U(k)
#define ROW_V(k)

#if TRANS_A
#define LOAD_U(k, u, t) a[(k) + (u)*LDA]
#else
#define LOAD_U(k, u, t) a[(u) + (k)*LDA]
#endif
#if TRANS_B
#define LOAD_V(k, v) b[(v) + (k)*LDB]
#else
#define LOAD_V(k, v) b[(k) + (v)*LDB]
#endif

#if BIAS == 1
#define ADD_BIAS(u, v) +bias[bias_offset + (u)]
#elif BIAS == 2
#define ADD_BIAS(u, v) +bias[bias_offset + (v)]
#else
#define ADD_BIAS(u, v)
#endif

// By number: a name such as tanh is itself a macro in some OpenCL headers.
#if ACTIVATION == 0
#define ACTIVATE(x) (x)
#elif ACTIVATION == 1
// A NaN stays one.
#define ACTIVATE(x) ((x) < (REAL)0 ? (REAL)0 : (x))
#elif ACTIVATION == 2
#define ACTIVATE(x) tanh(x)
#elif ACTIVATION == 3
#define ACTIVATE(x) ((REAL)1 / ((REAL)1 + exp(-(x))))
#else
#define ACTIVATE(x) ((REAL)0.5 * (x) * ((REAL)1 + erf((x) * (REAL)0.70710678118654752440)))
#endif

// With beta zero, C may hold NaN and is not read.
#if BETA_ZERO
#define OLD_C(place)
#else
#define OLD_C(place) +beta * (place)
#endif
#define STORE(u, v, value)                                              \
  {                                                                     \
    __global REAL* place = c + (u) + (v)*LDC;                           \
    const REAL total = alpha * (value)OLD_C(*place) ADD_BIAS(u, v);     \
    *place = ACTIVATE(total);                               \
  }
