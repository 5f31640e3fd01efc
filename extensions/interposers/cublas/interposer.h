// Which products of cuBLAS are for attune, and what computes them.
#pragma once

#include "extensions/interposers/cublas/device_runtimes.h"
#include "extensions/interposers/cublas/gemm_call.h"
#include "extensions/interposers/cublas/real_function.h"
#include "extensions/interposers/preload/service.h"

namespace attune::cublas {

// For the time in which a real function runs on this thread: cuBLAS computes its own products with
// cuBLASLt, and those calls arrive here again. They reach the real function at once and uncounted,
// as they do where cuBLAS calls from a function that is not one of ours (Binding::is_cublas).
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

// Whether a call that is bound so is for attune at all. Counts those that are not, but for those of
// cuBLAS itself.
bool Wants(const Binding& binding);

// Computes the product on the device that is current in this thread. False if the real function has
// to, for `outcome` or another reason; then nothing of C was written. Adds the alignment.
bool Serve(const RealFunction& real, Outcome outcome, Product& product);

}  // namespace attune::cublas
