#include "attune/kernel/opencl_on_cuda.h"

namespace attune::kernel {
namespace {

// Names that a source could itself have (a size in capitals, a parameter) come after it, so that
// none of them is a macro here.
constexpr std::string_view kPrelude = R"cuda(#line 1 "opencl_on_cuda"
#define __kernel extern "C" __global__
#define __global
#define __constant const
#define __private
// Only of arrays: a pointer to local memory has no word of its own here.
#define __local __shared__
#define restrict __restrict__
#define reqd_work_group_size(x, y, z) launch_bounds((x) * (y) * (z))

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;

#define CLK_LOCAL_MEM_FENCE 1
#define CLK_GLOBAL_MEM_FENCE 2
inline void barrier(int) { __syncthreads(); }

inline size_t get_group_id(int d) { return d == 0 ? blockIdx.x : d == 1 ? blockIdx.y : blockIdx.z; }
inline size_t get_local_id(int d) { return d == 0 ? threadIdx.x : d == 1 ? threadIdx.y : threadIdx.z; }
inline size_t get_local_size(int d) { return d == 0 ? blockDim.x : d == 1 ? blockDim.y : blockDim.z; }
inline size_t get_num_groups(int d) { return d == 0 ? gridDim.x : d == 1 ? gridDim.y : gridDim.z; }
inline size_t get_global_id(int d) { return get_group_id(d) * get_local_size(d) + get_local_id(d); }
inline size_t get_global_size(int d) { return get_num_groups(d) * get_local_size(d); }

template <class T, int count>
struct OpenClVector {
  T lane[count];
  OpenClVector() = default;
  explicit OpenClVector(T value) {
#pragma unroll
    for (int i = 0; i < count; ++i) lane[i] = value;
  }
};

#define ATTUNE_OPERATOR(op)                                                                      \
  template <class T, int count>                                                                  \
  inline OpenClVector<T, count> operator op(OpenClVector<T, count> a, OpenClVector<T, count> b) { \
    _Pragma("unroll") for (int i = 0; i < count; ++i) a.lane[i] = a.lane[i] op b.lane[i];        \
    return a;                                                                                    \
  }                                                                                              \
  template <class T, int count>                                                                  \
  inline OpenClVector<T, count> operator op(OpenClVector<T, count> a, T b) {                     \
    return a op OpenClVector<T, count>(b);                                                       \
  }
ATTUNE_OPERATOR(+)
ATTUNE_OPERATOR(-)
ATTUNE_OPERATOR(*)
ATTUNE_OPERATOR(/)
#undef ATTUNE_OPERATOR

template <class T, int count>
inline OpenClVector<T, count> fma(OpenClVector<T, count> a, OpenClVector<T, count> b,
                                  OpenClVector<T, count> c) {
#pragma unroll
  for (int i = 0; i < count; ++i) c.lane[i] = fma(a.lane[i], b.lane[i], c.lane[i]);
  return c;
}

template <int count, class T>
inline OpenClVector<T, count> OpenClLoad(size_t offset, const T* from) {
  OpenClVector<T, count> value;
#pragma unroll
  for (int i = 0; i < count; ++i) value.lane[i] = from[offset * count + i];
  return value;
}

template <int count, class T>
inline void OpenClStore(OpenClVector<T, count> value, size_t offset, T* to) {
#pragma unroll
  for (int i = 0; i < count; ++i) to[offset * count + i] = value.lane[i];
}

#define vload2 OpenClLoad<2>
#define vload4 OpenClLoad<4>
#define vload8 OpenClLoad<8>
#define vload16 OpenClLoad<16>
#define vstore2 OpenClStore<2>
#define vstore4 OpenClStore<4>
#define vstore8 OpenClStore<8>
#define vstore16 OpenClStore<16>
// After everything of CUDA's own, which has some of these names.
#define float2 OpenClVector<float, 2>
#define float4 OpenClVector<float, 4>
#define float8 OpenClVector<float, 8>
#define float16 OpenClVector<float, 16>
#define double2 OpenClVector<double, 2>
#define double4 OpenClVector<double, 4>
#define double8 OpenClVector<double, 8>
#define double16 OpenClVector<double, 16>
)cuda";

}  // namespace

std::string_view OpenClOnCuda() { return kPrelude; }

}  // namespace attune::kernel
