// A run time for tests of the cuBLAS interposer: computes products of 1x1 matrices in host memory.
// Its behaviour comes from the environment:
//
//   DOUBLE_FAILS=WHAT      create or run: that call fails
//   DOUBLE_KNOWS=nothing   no product is known
//   DOUBLE_SAYS=1          says on standard error what it was created with and what it computes
//   DOUBLE_CALLS_BACK=1    calls cublasSgemm_v2 of the program while it computes, as a library does
//                          that was not kept apart

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "attune/attune.h"

namespace {

int created;  // Its address stands for every run time.

bool Is(const char* variable, const char* wanted) {
  const char* value = std::getenv(variable);
  return value != nullptr && std::strcmp(value, wanted) == 0;
}

template <class T>
void Multiply(const attune_gemm& g, const attune_arguments& x) {
  const auto read = [](const void* value) { return double{*static_cast<const T*>(value)}; };
  auto& c = *static_cast<T*>(x.c);
  double sum = x.alpha * read(x.a) * read(x.b) + (x.beta == 0 ? 0 : x.beta * c);
  if (g.bias != ATTUNE_BIAS_NONE) sum += read(x.bias);
  if (g.activation == ATTUNE_RELU) sum = std::max(sum, 0.0);
  c = static_cast<T>(sum);
}

void SayCall(const attune_gemm& g, const attune_arguments& x) {
  std::fprintf(stderr,
               "computed: type %d math %d batch %lld bias %d activation %d alpha %g beta %g queue "
               "%p\n",
               g.type, g.math, static_cast<long long>(g.batch_count), g.bias, g.activation, x.alpha,
               x.beta, x.queue);
}

// Passes a null handle, which the real function refuses.
void CallBack() {
  void* found = ::dlsym(RTLD_DEFAULT, "cublasSgemm_v2");
  const float one = 1;
  float result = 0;
  reinterpret_cast<int (*)(void*, int, int, int, int, int, const float*, const float*, int,
                           const float*, int, const float*, float*, int)>(found)(
      nullptr, 0, 0, 1, 1, 1, &one, &one, 1, &one, 1, &one, &result, 1);
}

}  // namespace

extern "C" {

int attune_api_version(void) { return ATTUNE_API_VERSION; }

const char* attune_last_message(void) { return "The stand-in was told to fail."; }

attune_code attune_runtime_create(const attune_options* options, attune_runtime** out) {
  if (Is("DOUBLE_FAILS", "create")) return ATTUNE_UNAVAILABLE;
  if (Is("DOUBLE_SAYS", "1")) {
    std::fprintf(stderr, "created: device %s known_only %d policy %d tag %s deterministic %d\n",
                 options->device, options->known_only, static_cast<int>(options->policy),
                 options->record_tag == nullptr ? "-" : options->record_tag,
                 options->deterministic);
  }
  *out = reinterpret_cast<attune_runtime*>(&created);
  return ATTUNE_OK;
}

attune_code attune_run_gemm(attune_runtime*, const attune_gemm* gemm,
                            const attune_arguments* arguments) {
  if (Is("DOUBLE_FAILS", "run")) return ATTUNE_UNSUPPORTED;
  if (Is("DOUBLE_KNOWS", "nothing")) return ATTUNE_NOT_FOUND;
  if (Is("DOUBLE_CALLS_BACK", "1")) CallBack();
  if (Is("DOUBLE_SAYS", "1")) SayCall(*gemm, *arguments);
  if (gemm->type == ATTUNE_F32) Multiply<float>(*gemm, *arguments);
  if (gemm->type == ATTUNE_F64) Multiply<double>(*gemm, *arguments);
  return ATTUNE_OK;
}

void attune_flush_records(attune_runtime*) {
  if (Is("DOUBLE_SAYS", "1")) std::fprintf(stderr, "flushed\n");
}

}  // extern "C"
