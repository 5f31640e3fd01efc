// The one place that knows how oneDNN 2 and oneDNN 3 differ: how primitive descriptors are made,
// how their implementations are iterated, and how many threads the library uses.
#pragma once

#include <functional>
#include <string>

#include <oneapi/dnnl/dnnl.hpp>

#include "attune/base/openmp_team.h"
#include "attune/base/status.h"
#include "attune/ops/batch_norm/batch_norm.h"
#include "attune/ops/conv/conv.h"
#include "attune/ops/gemm/gemm.h"

namespace attune::onednn {

// Logical operands of one convolution. For the gradients, `src`, `weights` and `dst` describe the
// gradient where that operand is the output.
struct ConvCall {
  ConvDirection direction = ConvDirection::kForward;
  dnnl::algorithm algorithm = dnnl::algorithm::convolution_direct;
  dnnl::memory::desc src, weights, dst;
  dnnl::memory::desc bias;  // Zero dimensions for none; forward only.
  dnnl::memory::dims strides, dilates,
      pads;  // One for each spatial dimension; a dilation of 0 is dense.
  MathMode math = MathMode::kStrict;
};

// dst = activation(alpha * src * weights + beta * dst + bias), all row-major views of oneDNN's
// matmul.
struct MatmulCall {
  dnnl::memory::desc src, weights, dst;
  dnnl::memory::desc bias;      // Zero dimensions for none.
  bool bias_after_sum = false;  // Added by a post-operation instead of by the primitive.
  float alpha = 1;
  float beta = 0;
  Activation activation = Activation::kNone;
  MathMode math = MathMode::kStrict;
};

// One batch norm with a mean for each channel. Parameters and statistics are f32, a value for each
// channel. Inference is given its statistics, training writes them, backward reads them.
struct BatchNormCall {
  BatchNormPass pass = BatchNormPass::kTraining;
  dnnl::memory::desc data;  // The source, the destination and their gradients.
  bool affine = true;       // Scale and shift are arguments.
  bool relu = false;        // After the norm; not backward.
  float epsilon = 0;
};

// A softmax or its logarithm along axis 1.
struct SoftmaxCall {
  bool backward = false;
  bool logarithm = false;
  dnnl::memory::desc src;  // Backward its gradient.
  dnnl::memory::desc dst;  // Backward, also the gradient of dst.
};

// One implementation that the library offers for a call, at the iterator's position.
struct Implementation {
  std::string
      name;  // impl_info_str with every character that a parameter value cannot hold as '_'.
  dnnl::memory::desc src, weights, dst, scratchpad;  // The formats that `any` resolved to.
  dnnl::memory::desc workspace;  // Written by a batch norm of training with a ReLU, else empty.
  // Compiles it. Throws dnnl::error. Valid during the visit only.
  std::function<dnnl::primitive()> create;
};

// Sees each implementation in the library's order; false ends the iteration.
using Visitor = std::function<bool(const Implementation&)>;

// Visits the library's implementations; visits nothing if there are none. Scratchpads are the
// user's. Throws dnnl::error for a failure other than "not implemented".
void VisitConv(const dnnl::engine& engine, const ConvCall& call, const Visitor& visitor);
void VisitMatmul(const dnnl::engine& engine, const MatmulCall& call, const Visitor& visitor);
void VisitBatchNorm(const dnnl::engine& engine, const BatchNormCall& call, const Visitor& visitor);
void VisitSoftmax(const dnnl::engine& engine, const SoftmaxCall& call, const Visitor& visitor);

// True if a batch norm of the backward pass with `affine` has DNNL_ARG_SHIFT as an argument. Its
// values do not matter.
bool BackwardTakesShift();

// A primitive that the library chose. Its scratchpad is the user's.
struct ChosenPrimitive {
  dnnl::primitive primitive;
  dnnl::memory::desc scratchpad;
};
// The gradient of a ReLU: DIFF_SRC = DIFF_DST where DST > 0, else 0. Throws dnnl::error.
ChosenPrimitive MakeReluGradient(const dnnl::engine& engine, const dnnl::memory::desc& data);
// DST = SRC_0 * SRC_1, which may be in place. All extents of `factor` are 1. Throws dnnl::error.
ChosenPrimitive MakeScaling(const dnnl::engine& engine, const dnnl::memory::desc& data,
                            const dnnl::memory::desc& factor);

// The argument index under which a MatmulCall with `bias_after_sum` takes its bias.
int PostBiasArgument(const MatmulCall& call);

// oneDNN's type, or undef where this version has none.
dnnl::memory::data_type TypeOf(DataType type);
// The same extents and type as `desc` in another format.
dnnl::memory::desc InFormat(const dnnl::memory::desc& desc, dnnl::memory::format_tag format);
// Row-major, without gaps.
dnnl::memory::desc InDenseFormat(const dnnl::memory::desc& desc);

// "2.6.3" and the commit that the library reports, empty if it reports none.
std::string LibraryVersion();
std::string LibraryCommit();

// The OpenMP runtime behind oneDNN uses `threads` threads on the calling thread while this lives.
// Has no effect if oneDNN was built on another runtime.
class ThreadCountScope {
 public:
  explicit ThreadCountScope(int threads);
  ~ThreadCountScope();
  ThreadCountScope(const ThreadCountScope&) = delete;
  ThreadCountScope& operator=(const ThreadCountScope&) = delete;

 private:
  const FullTeam team_;
  int previous_ = 0;
};

// The functions of the OpenMP runtime behind oneDNN; empty if oneDNN uses another runtime.
OpenMpFunctions OpenMp();

// False if the thread count of this build of oneDNN cannot be chosen.
bool CanSetThreadCount();

// Ok if the process may query and make primitives. kResourceExhausted if limits leave too little
// address space.
Status CheckMemory();
// The same for primitives on `threads` threads, which may be too many as well.
Status CheckResources(int threads);

}  // namespace attune::onednn
