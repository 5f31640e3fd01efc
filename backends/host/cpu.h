// The part of the processor that this process may use: cores, instruction sets and caches.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace attune::host {

// Levels of the x86-64 psABI. Each includes the ones before it.
enum class IsaLevel { kBaseline, kV2, kV3, kV4 };
// "x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4": the names that compilers use.
std::string_view Name(IsaLevel level);

// Attributes of functions that are compiled for a level, independent of the rest of the source.
#define ATTUNE_TARGET_V3 [[gnu::target("avx2,fma,bmi2")]]
#ifdef __clang__  // It knows no preferred width of vectors.
#define ATTUNE_TARGET_V4 [[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,fma,bmi2")]]
#else
#define ATTUNE_TARGET_V4 \
  [[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,fma,bmi2,prefer-vector-width=512")]]
#endif

struct CpuDescription {
  std::string model;  // "AMD EPYC 9654"; "unknown" if the system does not report it.
  IsaLevel level = IsaLevel::kBaseline;
  std::vector<std::string>
      isa;               // Extensions that change which kernel is fastest, sorted: "avx2", "fma".
  int usable_cores = 1;  // Affinity mask and cgroup quota, whichever is less.
  size_t l1d_bytes = 0;  // Per core. 0 if the system does not report it.
  size_t l2_bytes = 0;   // Per core.
  size_t l3_bytes = 0;   // Shared by the cores of this process.
};

CpuDescription DescribeCpu();

}  // namespace attune::host
