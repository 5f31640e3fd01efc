// A runtime for tests of the preload library: computes by the definition, or by a library opened
// for it, and fails on demand. The environment controls it:
//
//   DOUBLE_FAILS=WHAT         create or run: that call fails; create-limit or run-limit: a process
//                             limit makes it fail
//   DOUBLE_LIBRARY=PATH       computes with cblas_sgemm and cblas_dgemm of that library, opened so
//                             that its own calls may come back through the preload library
//   DOUBLE_SAYS=1             says on standard error with which options it was created
//   DOUBLE_CALLS_BACK=1       calls cblas_sgemm of the program while it computes, as a library does
//                             that was not kept apart

#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "attune/attune.h"

namespace {

std::atomic<int> served = 0;

bool Is(const char* variable, const char* wanted) {
  const char* value = std::getenv(variable);
  return value != nullptr && std::strcmp(value, wanted) == 0;
}

template <class T>
using CblasGemm = void(int, int, int, int, int, int, T, const T*, int, const T*, int, T, T*, int);

template <class T>
void MultiplyWith(CblasGemm<T>* gemm, const attune_gemm& g, const attune_arguments& x) {
  gemm(102, 111 + g.trans_a, 111 + g.trans_b, static_cast<int>(g.m), static_cast<int>(g.n),
       static_cast<int>(g.k), static_cast<T>(x.alpha), static_cast<const T*>(x.a),
       static_cast<int>(g.lda), static_cast<const T*>(x.b), static_cast<int>(g.ldb),
       static_cast<T>(x.beta), static_cast<T*>(x.c), static_cast<int>(g.ldc));
}

template <class T>
void MultiplyPlainly(const attune_gemm& g, const attune_arguments& x) {
  const T* a = static_cast<const T*>(x.a);
  const T* b = static_cast<const T*>(x.b);
  T* c = static_cast<T*>(x.c);
  for (int64_t j = 0; j < g.n; ++j) {
    for (int64_t i = 0; i < g.m; ++i) {
      double sum = 0;
      for (int64_t l = 0; l < g.k; ++l) {
        sum += double{a[g.trans_a ? l + i * g.lda : i + l * g.lda]} *
               b[g.trans_b ? j + l * g.ldb : l + j * g.ldb];
      }
      T& out = c[i + j * g.ldc];
      out = static_cast<T>(x.alpha * sum + (x.beta == 0 ? 0 : x.beta * out));
    }
  }
}

void CallBack() {
  const float one = 1;
  float result = 0;
  void* found = ::dlsym(RTLD_DEFAULT, "cblas_sgemm");
  reinterpret_cast<CblasGemm<float>*>(found)(102, 111, 111, 1, 1, 1, 1, &one, 1, &one, 1, 0,
                                             &result, 1);
}

template <class T>
void Multiply(const char* name, const attune_gemm& gemm, const attune_arguments& arguments) {
  const char* path = std::getenv("DOUBLE_LIBRARY");
  if (path == nullptr) return MultiplyPlainly<T>(gemm, arguments);
  void* library = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) std::abort();
  MultiplyWith(reinterpret_cast<CblasGemm<T>*>(::dlsym(library, name)), gemm, arguments);
}

}  // namespace

extern "C" {

ATTUNE_API int double_served() { return served; }

int attune_api_version(void) { return ATTUNE_API_VERSION; }

const char* attune_last_message(void) { return "The stand-in was told to fail."; }

attune_code attune_runtime_create(const attune_options* options, attune_runtime** out) {
  if (Is("DOUBLE_FAILS", "create")) return ATTUNE_UNAVAILABLE;
  if (Is("DOUBLE_FAILS", "create-limit")) return ATTUNE_RESOURCE_EXHAUSTED;
  if (Is("DOUBLE_SAYS", "1")) {
    std::fprintf(
        stderr, "created: policy %d tag %s deterministic %d\n", static_cast<int>(options->policy),
        options->record_tag == nullptr ? "-" : options->record_tag, options->deterministic);
  }
  *out = reinterpret_cast<attune_runtime*>(&served);
  return ATTUNE_OK;
}

attune_code attune_run_gemm(attune_runtime*, const attune_gemm* gemm,
                            const attune_arguments* arguments) {
  if (Is("DOUBLE_FAILS", "run")) return ATTUNE_UNSUPPORTED;
  if (Is("DOUBLE_FAILS", "run-limit")) return ATTUNE_RESOURCE_EXHAUSTED;
  if (Is("DOUBLE_CALLS_BACK", "1")) CallBack();
  if (gemm->type == ATTUNE_F32) {
    Multiply<float>("cblas_sgemm", *gemm, *arguments);
  } else {
    Multiply<double>("cblas_dgemm", *gemm, *arguments);
  }
  ++served;
  return ATTUNE_OK;
}

void attune_flush_records(attune_runtime*) {
  if (Is("DOUBLE_SAYS", "1")) std::fprintf(stderr, "flushed\n");
}

}  // extern "C"
