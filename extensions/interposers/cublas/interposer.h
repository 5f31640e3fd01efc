// Selects the products of cuBLAS that attune computes, and computes them.
#pragma once

#include "extensions/interposers/cublas/device_runtimes.h"
#include "extensions/interposers/cublas/gemm_call.h"
#include "extensions/interposers/cublas/real_function.h"
#include "extensions/interposers/preload/service.h"

namespace attune::cublas {

// Marks that a real function runs on this thread: cuBLAS computes its own products with cuBLASLt,
// and those calls arrive here again. They reach the real function at once and uncounted, as do
// calls of cuBLAS from a function that is not interposed (Binding::is_cublas).
class Passing {
 public:
  Passing() : before_(is_passing_) { is_passing_ = true; }
  Passing(const Passing&) = delete;
  Passing& operator=(const Passing&) = delete;
  ~Passing() { is_passing_ = before_; }

  static bool is_passing() { return is_passing_; }

 private:
  static constinit thread_local bool is_passing_;

  bool before_;
};

// True if attune wants calls with this binding. Counts those it does not, except calls from cuBLAS
// itself.
bool Wants(const Binding& binding);

// Computes the product on the device that is current in this thread. Returns false if the real
// function must do it, for `outcome` or another reason; then nothing of C was written. Adds the
// alignment.
bool Serve(const RealFunction& real, Outcome outcome, Product& product);

}  // namespace attune::cublas
