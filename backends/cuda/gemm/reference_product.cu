// References: products in f64 or double-double, whose factors are gathered and decoded on the fly.
// Compiled behind reference_product_arguments.h, once for every type and size. A test compiles the
// same text for the host.

namespace attune::cuda {

// A block computes kTile x kTile elements, kDepth terms at a time; each of its threads kOwn x kOwn.
constexpr int kTile = 64;
constexpr int kDepth = 16;
constexpr int kThreads = 256;
constexpr int kAlong = 16;
constexpr int kOwn = kTile / kAlong;
constexpr int kWarp = 32;
// One more than what is used, or a column would live in one bank.
constexpr int kRow = kTile + 1;

// Of the bits of an f16, as attune/verify/element.h.
__device__ float from_f16(unsigned bits) {
  const unsigned sign = (bits & 0x8000u) << 16;
  const unsigned exponent = bits >> 10 & 0x1fu;
  const unsigned mantissa = bits & 0x3ffu;
  if (exponent == 0) {
    return __uint_as_float(__float_as_uint((float)mantissa * 5.9604644775390625e-8f) | sign);
  }
  const unsigned wide = exponent == 0x1fu ? 0xffu : exponent + 112;
  return __uint_as_float(sign | wide << 23 | mantissa << 13);
}

// With the exponent and the mantissa of an f16, whose bias is larger by 8.
__device__ float from_f8e4m3(unsigned bits) {
  if ((bits & 0x7fu) == 0x7fu) return __uint_as_float(0x7fc00000u);
  return 256 * from_f16((bits & 0x80u) << 8 | (bits & 0x7fu) << 7);
}

// Elements that are not there are 0, all bits of which are 0 in every type. All are on their way at
// once.
template <class Raw, int kCount, class Decode>
__device__ void read_as(const void* from, const long long (&at)[kCount], double (&values)[kCount],
                        Decode decode) {
  Raw raw[kCount];
#pragma unroll
  for (int i = 0; i < kCount; ++i) raw[i] = at[i] < 0 ? Raw(0) : ((const Raw*)from)[at[i]];
#pragma unroll
  for (int i = 0; i < kCount; ++i) values[i] = decode(raw[i]);
}

// Those at offsets `at`; 0 for a negative one.
template <int kCount>
__device__ void read_elements(const void* from, int type, const long long (&at)[kCount],
                              double (&values)[kCount]) {
  switch (type) {
    case kReferenceF64:
      return read_as<double>(from, at, values, [](double raw) { return raw; });
    case kReferenceF32:
      return read_as<float>(from, at, values, [](float raw) { return (double)raw; });
    case kReferenceF16:
      return read_as<unsigned short>(from, at, values,
                                     [](unsigned raw) { return (double)from_f16(raw); });
    case kReferenceBf16:
      return read_as<unsigned short>(
          from, at, values, [](unsigned raw) { return (double)__uint_as_float(raw << 16); });
    case kReferenceF8E4M3:
      return read_as<unsigned char>(from, at, values,
                                    [](unsigned raw) { return (double)from_f8e4m3(raw); });
    case kReferenceI8:
      return read_as<signed char>(from, at, values, [](int raw) { return (double)raw; });
    case kReferenceI32:
      return read_as<int>(from, at, values, [](int raw) { return (double)raw; });
    default:
      // The upper half of an f16.
      return read_as<unsigned char>(from, at, values,
                                    [](unsigned raw) { return (double)from_f16(raw << 8); });
  }
}

__device__ double element_at(const void* from, int type, long long at) {
  const long long places[] = {at};
  double values[1];
  read_elements(from, type, places, values);
  return values[0];
}

struct Digits {
  long long outer;
  int inner[3];
};

// Takes the last digit off. Divisions of 64 bits, which most indices do not need, take ten times as
// long, and everybody waits for them.
__device__ int take_digit(long long& index, int extent) {
  if (extent == 1) return 0;
  const long long all = index;
  if (all >> 32 == 0) {
    index = (unsigned)all / (unsigned)extent;
    return (int)((unsigned)all % (unsigned)extent);
  }
  index = all / extent;
  return (int)(all % extent);
}

__device__ Digits digits_of(long long index, const int extents[3]) {
  Digits digits;
  for (int i = 2; i >= 0; --i) digits.inner[i] = take_digit(index, extents[i]);
  digits.outer = index;
  return digits;
}

// One index's share of where a factor lies: the shares of k and of the output add up.
struct Share {
  long long offset;
  int at[3];
};

// Outside, whatever is added.
__device__ Share nowhere() { return {0, {-(1 << 30), 0, 0}}; }

__device__ Share share_of_k(const ReferenceProduct& task, const Factor& factor, long long k) {
  if (k >= task.k) return nowhere();
  const Digits digits = digits_of(k, task.k_extents);
  Share share;
  share.offset = digits.outer * factor.k;
  for (int i = 0; i < 3; ++i) share.at[i] = digits.inner[i] * factor.k_at[i] + factor.at[i];
  return share;
}

__device__ Share share_of_output(const Factor& factor, const Digits& digits) {
  Share share;
  share.offset = digits.outer * factor.out;
  for (int i = 0; i < 3; ++i) share.at[i] = digits.inner[i] * factor.out_at[i];
  return share;
}

__device__ Digits digits_of_m(long long m) { return {m, {0, 0, 0}}; }

// Negative where the factor is 0.
__device__ long long place_of(const Factor& factor, long long product, const Share& k,
                              const Share& out) {
  long long place = product * factor.product + k.offset + out.offset;
#pragma unroll
  for (int i = 0; i < 3; ++i) {
    int at = k.at[i] + out.at[i];
    if (factor.divisor[i] != 1) {
      if (at % factor.divisor[i] != 0) return -1;
      at /= factor.divisor[i];
    }
    // One comparison for both ends: what is negative is large without a sign.
    if ((unsigned)at >= (unsigned)factor.extent[i]) return -1;
    place += at * factor.step[i];
  }
  return place;
}

// A block's part of the output.
struct Tile {
  long long product, m, n;  // Of its first element.
};

struct Panels {
  Share m[kTile], n[kTile];
  Share k_of_a[kDepth], k_of_b[kDepth];
  double a[kDepth][kRow], b[kDepth][kRow];
};

// What a thread adds up; errors in double-double only.
struct Sums {
  double values[kOwn][kOwn];
  double errors[kOwn][kOwn];
};

__device__ long long tiles_along(long long extent) { return (extent + kTile - 1) / kTile; }

__device__ long long tiles_of(const ReferenceProduct& task) {
  return task.count * tiles_along(task.m) * tiles_along(task.n);
}

__device__ Tile tile_at(const ReferenceProduct& task, long long index) {
  const long long along_m = tiles_along(task.m);
  const long long along_n = tiles_along(task.n);
  return {index / along_m / along_n, index % along_m * kTile, index / along_m % along_n * kTile};
}

__device__ void place_outputs(const ReferenceProduct& task, const Tile& tile, Panels& panels) {
  const int i = threadIdx.x % kTile;
  const long long m = tile.m + i;
  const long long n = tile.n + i;
  if (threadIdx.x < kTile) {
    panels.m[i] = m < task.m ? share_of_output(task.a, digits_of_m(m)) : nowhere();
  } else if (threadIdx.x < 2 * kTile) {
    panels.n[i] = n < task.n ? share_of_output(task.b, digits_of(n, task.n_extents)) : nowhere();
  }
}

__device__ void place_terms(const ReferenceProduct& task, long long k0, Panels& panels) {
  // By two warps, which do not wait for each other.
  const int i = threadIdx.x % kWarp;
  if (i >= kDepth) return;
  if (threadIdx.x / kWarp == 0) panels.k_of_a[i] = share_of_k(task, task.a, k0 + i);
  if (threadIdx.x / kWarp == 1) panels.k_of_b[i] = share_of_k(task, task.b, k0 + i);
}

// Neighbouring threads take neighbours in memory, whichever index counts those. Not inlined: what
// reads eight types stands in the code once.
__device__ __noinline__ void gather_panel(const Factor& factor, long long product,
                                          const Share* k, const Share* out,
                                          double (*panel)[kRow]) {
  constexpr int kCount = kDepth * kTile / kThreads;
  const bool is_k_inner = factor.k == 1;
  const int row = is_k_inner ? threadIdx.x % kDepth : threadIdx.x / kTile;
  const int column = is_k_inner ? threadIdx.x / kDepth : threadIdx.x % kTile;
  const int next_row = is_k_inner ? 0 : kThreads / kTile;
  const int next_column = is_k_inner ? kThreads / kDepth : 0;
  long long places[kCount];
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    places[i] = place_of(factor, product, k[row + i * next_row], out[column + i * next_column]);
  }
  double values[kCount];
  read_elements(factor.from, factor.type, places, values);
#pragma unroll
  for (int i = 0; i < kCount; ++i) panel[row + i * next_row][column + i * next_column] = values[i];
}

__device__ void gather_panels(const ReferenceProduct& task, const Tile& tile, Panels& panels) {
  gather_panel(task.a, tile.product, panels.k_of_a, panels.m, panels.a);
  gather_panel(task.b, tile.product, panels.k_of_b, panels.n, panels.b);
}

// Adds a * b; with `kExact`, what product and sum leave out goes to `error` (the compensated dot
// product of Ogita, Rump and Oishi, 2005). No intrinsic is contracted with another one.
template <bool kExact>
__device__ void add_product(double a, double b, double& sum, double& error) {
  if (!kExact) {
    sum = __fma_rn(a, b, sum);
    return;
  }
  const double product = __dmul_rn(a, b);
  const double total = __dadd_rn(sum, product);
  const double from_product = __dadd_rn(total, -sum);
  const double of_sum = __dadd_rn(sum, -__dadd_rn(total, -from_product));
  const double of_product = __dadd_rn(product, -from_product);
  error = __dadd_rn(error, __fma_rn(a, b, -product));
  error = __dadd_rn(error, __dadd_rn(of_sum, of_product));
  sum = total;
}

template <bool kExact>
__device__ void multiply_panels(const Panels& panels, Sums& sums) {
  const int row = threadIdx.x / kAlong;
  const int column = threadIdx.x % kAlong;
#pragma unroll 4
  for (int k = 0; k < kDepth; ++k) {
    double a[kOwn], b[kOwn];
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      a[i] = panels.a[k][row + i * kAlong];
      b[i] = panels.b[k][column + i * kAlong];
    }
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
#pragma unroll
      for (int j = 0; j < kOwn; ++j) {
        add_product<kExact>(a[i], b[j], sums.values[i][j], sums.errors[i][j]);
      }
    }
  }
}

__device__ double activated(int activation, double x) {
  switch (activation) {
    case kReferenceRelu:
      return x > 0 ? x : 0;
    case kReferenceGelu:
      return 0.5 * x * erfc(x * -0.70710678118654752440);
    case kReferenceTanh:
      return tanh(x);
    case kReferenceSigmoid:
      return 1 / (1 + exp(-x));
    default:
      return x;
  }
}

__device__ long long offset_of(const Destination& place, long long product, long long m,
                               const Digits& n) {
  long long offset = product * place.product + m * place.m + n.outer * place.n;
  for (int i = 0; i < 3; ++i) offset += n.inner[i] * place.step[i];
  return offset;
}

// Not inlined, or functions of a hundred instructions would stand in the code for every element.
__device__ __noinline__ void finish(const ReferenceProduct& task, long long product, long long m,
                                    long long n, double sum) {
  const Digits digits = digits_of(n, task.n_extents);
  const long long at = offset_of(task.to_place, product, m, digits);
  double value = task.alpha * sum;
  if (task.initial) value += task.beta * element_at(task.initial, task.output_type, at);
  if (task.bias) {
    const long long of_bias = offset_of(task.bias_place, product, m, digits);
    value += element_at(task.bias, task.output_type, of_bias);
  }
  task.to[at] = activated(task.activation, value);
}

__device__ void store(const ReferenceProduct& task, const Tile& tile, const Sums& sums) {
#pragma unroll
  for (int j = 0; j < kOwn; ++j) {
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      const long long m = tile.m + threadIdx.x / kAlong + i * kAlong;
      const long long n = tile.n + threadIdx.x % kAlong + j * kAlong;
      if (m >= task.m || n >= task.n) continue;
      finish(task, tile.product, m, n, sums.values[i][j] + sums.errors[i][j]);
    }
  }
}

template <bool kExact>
__device__ void compute(const ReferenceProduct& task) {
  __shared__ Panels panels;
  for (long long index = blockIdx.x; index < tiles_of(task); index += gridDim.x) {
    const Tile tile = tile_at(task, index);
    Sums sums = {};
    place_outputs(task, tile, panels);
    for (long long k0 = 0; k0 < task.k; k0 += kDepth) {
      place_terms(task, k0, panels);
      __syncthreads();
      gather_panels(task, tile, panels);
      __syncthreads();
      multiply_panels<kExact>(panels, sums);
    }
    store(task, tile, sums);
  }
}

extern "C" __global__ void __launch_bounds__(kThreads)
    reference_product(const __grid_constant__ ReferenceProduct task) {
  compute<false>(task);
}

extern "C" __global__ void __launch_bounds__(kThreads)
    exact_reference_product(const __grid_constant__ ReferenceProduct task) {
  compute<true>(task);
}

}  // namespace attune::cuda
