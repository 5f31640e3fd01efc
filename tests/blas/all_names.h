// Every exported BLAS name as a function of one signature, for tests.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "extensions/interposers/blas/names.h"

namespace attune::blas {

// Arguments of a gemm as a caller writes them; `row_major` is for C names only.
template <class T>
struct GemmArguments {
  bool row_major = false;
  char trans_a = 'N', trans_b = 'N';
  int64_t m = 0, n = 0, k = 0;
  T alpha = 1;
  const T* a = nullptr;
  int64_t lda = 0;
  const T* b = nullptr;
  int64_t ldb = 0;
  T beta = 0;
  T* c = nullptr;
  int64_t ldc = 0;
};

template <class T>
struct GemvArguments {
  bool row_major = false;
  char trans = 'N';
  int64_t m = 0, n = 0;
  T alpha = 1;
  const T* a = nullptr;
  int64_t lda = 0;
  const T* x = nullptr;
  int64_t incx = 1;
  T beta = 0;
  T* y = nullptr;
  int64_t incy = 1;
};

template <class Arguments>
struct NamedEntry {
  std::string name;
  bool takes_order;
  std::function<void(const Arguments&)> call;
};

template <class Arguments>
void PrintTo(const NamedEntry<Arguments>& entry, std::ostream* out) {
  *out << entry.name;
}

struct AllNames {
  std::vector<NamedEntry<GemmArguments<float>>> sgemm;
  std::vector<NamedEntry<GemmArguments<double>>> dgemm;
  std::vector<NamedEntry<GemvArguments<float>>> sgemv;
  std::vector<NamedEntry<GemvArguments<double>>> dgemv;
};
AllNames TakeAllNames();

}  // namespace attune::blas
