#include "extensions/interposers/blas/program_threads.h"

#include <algorithm>
#include <cstdio>

#include "extensions/interposers/preload/lookup.h"

namespace attune::blas {
namespace {

using Count = int();
using LongCount = int64_t();  // BLIS counts in its dim_t.

// Set before the service serves.
constinit Count* threads_of_blas = nullptr;
constinit LongCount* threads_of_blis = nullptr;
constinit Count* threads_of_openmp = nullptr;

template <class Function>
void Find(const void* beside, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(interposer::FindBeside(beside, name));
}

// The names of OpenBLAS: plain, of 64-bit integers, and both inside PyPI's NumPy and SciPy.
void FindOfOpenBlas(const void* beside, const char* name, Count*& function) {
  constexpr size_t kMaxName = 64;
  for (const char* prefix : {"", "scipy_"}) {
    for (const char* suffix : {"", "64_"}) {
      char whole[kMaxName];
      std::snprintf(whole, sizeof whole, "%s%s%s", prefix, name, suffix);
      if (function == nullptr) Find(beside, whole, function);
    }
  }
}

}  // namespace

void FindThreadSetting(const void* function) {
  Find(function, "bli_thread_get_num_threads", threads_of_blis);
  if (threads_of_blis != nullptr) return;
  FindOfOpenBlas(function, "openblas_get_num_threads", threads_of_blas);
  if (threads_of_blas == nullptr) return Find(function, "MKL_Get_Max_Threads", threads_of_blas);
  // An OpenBLAS on OpenMP obeys omp_set_num_threads(), too.
  constexpr int kOnOpenMp = 2;
  Count* parallel = nullptr;
  FindOfOpenBlas(function, "openblas_get_parallel", parallel);
  if (parallel != nullptr && parallel() == kOnOpenMp) {
    Find(function, "omp_get_max_threads", threads_of_openmp);
  }
}

int32_t ThreadsOfProgram(void*) {
  if (threads_of_blis != nullptr) {
    // -1 if the program has set none.
    return static_cast<int32_t>(std::clamp<int64_t>(threads_of_blis(), 0, INT32_MAX));
  }
  if (threads_of_blas == nullptr) return 0;
  const int threads = threads_of_blas();
  return threads_of_openmp == nullptr ? threads : std::min(threads, threads_of_openmp());
}

}  // namespace attune::blas
