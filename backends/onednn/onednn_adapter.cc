#include "backends/onednn/onednn_adapter.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <iterator>
#include <memory>
#include <mutex>
#include <string_view>

#include <oneapi/dnnl/dnnl_config.h>
#include <oneapi/dnnl/dnnl_version.h>

#include "attune/base/guest_thread.h"
#include "attune/base/process_room.h"
#include "attune/ops/conv/conv.h"
#include "attune/ops/gemm/gemm.h"

// Weak, so that these resolve to the runtime that oneDNN loaded, and to null under another one.
// Linking an OpenMP library here could put a second runtime (libgomp beside libomp) into the
// process.
extern "C" {
__attribute__((weak)) void omp_set_num_threads(int);
__attribute__((weak)) int omp_get_max_threads();
__attribute__((weak)) int omp_get_dynamic();
__attribute__((weak)) void omp_set_dynamic(int);
__attribute__((weak)) int omp_get_active_level();
__attribute__((weak)) int omp_get_max_active_levels();
__attribute__((weak)) int omp_get_thread_limit();
}

namespace attune::onednn {
namespace {

using dnnl::algorithm;
using dnnl::memory;
using dnnl::prop_kind;

// More than any release offers; the bound keeps a library that never ends its list from hanging us.
constexpr int kMaxImplementations = 256;

std::string ParameterText(const char* name) {
  std::string text = name;
  for (char& c : text) {
    const bool kept = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      std::strchr("_.:+-", c) != nullptr;
    if (!kept) c = '_';
  }
  if (text.empty() || (text[0] >= '0' && text[0] <= '9')) text.insert(0, 1, '_');
  return text;
}

dnnl::primitive_attr Attributes(MathMode math) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (math == MathMode::kBf16) attributes.set_fpmath_mode(dnnl::fpmath_mode::bf16);
#if DNNL_VERSION_MAJOR >= 3
  if (math == MathMode::kTf32) attributes.set_fpmath_mode(dnnl::fpmath_mode::tf32);
#endif
  return attributes;
}

// True if two descriptors stand for the same code on the same memory formats.
bool IsSame(const_dnnl_primitive_desc_t a, const_dnnl_primitive_desc_t b) {
  const auto name = [](const_dnnl_primitive_desc_t of) {
    const char* text = nullptr;
    const dnnl_status_t status = dnnl_primitive_desc_query(of, dnnl_query_impl_info_str, 0, &text);
    return std::string_view(status == dnnl_success && text != nullptr ? text : "");
  };
  if (name(a) != name(b)) return false;
  constexpr dnnl_query_t kFormats[] = {dnnl_query_src_md,          dnnl_query_weights_md,
                                       dnnl_query_dst_md,          dnnl_query_diff_src_md,
                                       dnnl_query_diff_weights_md, dnnl_query_diff_dst_md,
                                       dnnl_query_scratchpad_md};
  return std::all_of(std::begin(kFormats), std::end(kFormats), [&](dnnl_query_t format) {
    const auto* of_a = dnnl_primitive_desc_query_md(a, format, 0);
    const auto* of_b = dnnl_primitive_desc_query_md(b, format, 0);
    if (of_a == nullptr || of_b == nullptr) return of_a == of_b;
    return dnnl_memory_desc_equal(of_a, of_b) != 0;
  });
}

// oneDNN's cache of primitives is empty and stays so while this lives; one at a time.
class CacheOff {
 public:
  CacheOff() : lock_(mutex_), capacity_(dnnl::get_primitive_cache_capacity()) {
    dnnl::set_primitive_cache_capacity(0);
  }
  ~CacheOff() { (void)dnnl_set_primitive_cache_capacity(capacity_); }
  CacheOff(const CacheOff&) = delete;
  CacheOff& operator=(const CacheOff&) = delete;

 private:
  static inline std::mutex mutex_;  // Held from reading the capacity to putting it back.
  const std::lock_guard<std::mutex> lock_;
  const int capacity_;
};

// The primitive of exactly this descriptor. oneDNN's cache takes two calls for equal that differ in
// the strides of extents of 1 only, though its choice of formats depends on these (seen in 3.2):
// the primitive that it hands out then reads memory that was never bound. The cache returns to its
// size at once; other users of it compile once more.
dnnl::primitive Create(const_dnnl_primitive_desc_t wanted) {
  const dnnl::primitive made(wanted);
  if (IsSame(made.get_primitive_desc(), wanted)) return made;
  const CacheOff cache_off;
  return dnnl::primitive(wanted);
}

// `resolve` fills the descriptors of an Implementation from the typed primitive descriptor.
template <class PrimitiveDesc, class Resolve>
void VisitAll(PrimitiveDesc& pd, const Resolve& resolve, const Visitor& visitor) {
  if (!pd) return;
  for (int i = 0; i < kMaxImplementations; ++i) {
    Implementation implementation;
    implementation.name = ParameterText(pd.impl_info_str());
    implementation.scratchpad = pd.scratchpad_desc();
    resolve(pd, implementation);
    // oneDNN's cache of primitives stays on, as in programs that use oneDNN. It only shortens
    // create(), which is outside of every launch. Its key includes the implementation, the
    // attributes and the number of threads, so no candidate gets another's code. A candidate that
    // is loaded again for the next round, or for use, is not compiled again. So load_ns is the cost
    // of a first load only in a process that has not loaded the same before. Without the cache,
    // every round would pay the compilation, and no measurement would be better.
    implementation.create = [&pd] { return Create(pd.get()); };
    if (!visitor(implementation) || !pd.next_impl()) return;
  }
}

dnnl::normalization_flags FlagsOf(const BatchNormCall& call) {
  using Flags = dnnl::normalization_flags;
  Flags flags = Flags::none;
  if (call.affine) flags = flags | Flags::use_scale | Flags::use_shift;
  if (call.pass == BatchNormPass::kInference) flags = flags | Flags::use_global_stats;
  if (call.relu) flags = flags | Flags::fuse_norm_relu;
  return flags;
}

// `backward` includes the gradients of scale and shift.
prop_kind GradientsOf(const BatchNormCall& call) {
  return call.affine ? prop_kind::backward : prop_kind::backward_data;
}

constexpr int kSoftmaxAxis = 1;

algorithm AlgorithmOf(const SoftmaxCall& call) {
  return call.logarithm ? algorithm::softmax_log : algorithm::softmax_accurate;
}

// The gradient is computed from the result instead of the source.
constexpr algorithm kReluOfResult = algorithm::eltwise_relu_use_dst_for_bwd;

#if DNNL_VERSION_MAJOR >= 3

memory::dims ExtentsOf(const memory::desc& desc) { return desc.get_dims(); }
memory::data_type TypeIn(const memory::desc& desc) { return desc.get_data_type(); }

template <class Operation>
struct Offer {
  typename Operation::primitive_desc list;
};

Offer<dnnl::convolution_forward> ForwardOffer(const dnnl::engine& engine, const ConvCall& call,
                                              prop_kind kind) {
  return {{engine, kind, call.algorithm, call.src, call.weights, call.bias, call.dst, call.strides,
           call.dilates, call.pads, call.pads, Attributes(call.math), true}};
}

template <class Operation>
Offer<Operation> BackwardOffer(const dnnl::engine& engine, const ConvCall& call,
                               const dnnl::convolution_forward::primitive_desc& hint) {
  return {{engine, call.algorithm, call.src, call.weights, call.dst, call.strides, call.dilates,
           call.pads, call.pads, hint, Attributes(call.math), true}};
}

Offer<dnnl::matmul> MatmulOffer(const dnnl::engine& engine, const MatmulCall& call,
                                const memory::desc& bias, const dnnl::primitive_attr& attributes) {
  return {{engine, call.src, call.weights, bias, call.dst, attributes, true}};
}

Offer<dnnl::batch_normalization_forward> NormOffer(const dnnl::engine& engine,
                                                   const BatchNormCall& call, prop_kind kind) {
  return {{engine, kind, call.data, call.data, call.epsilon, FlagsOf(call),
           Attributes(MathMode::kStrict), true}};
}

Offer<dnnl::batch_normalization_backward> NormGradientOffer(
    const dnnl::engine& engine, const BatchNormCall& call,
    const dnnl::batch_normalization_forward::primitive_desc& hint) {
  return {{engine, GradientsOf(call), call.data, call.data, call.data, call.epsilon, FlagsOf(call),
           hint, Attributes(MathMode::kStrict), true}};
}

using SoftmaxForward = dnnl::softmax_forward;
using SoftmaxBackward = dnnl::softmax_backward;

Offer<SoftmaxForward> SoftmaxOffer(const dnnl::engine& engine, const SoftmaxCall& call,
                                   prop_kind kind) {
  return {{engine, kind, AlgorithmOf(call), call.src, call.dst, kSoftmaxAxis,
           Attributes(MathMode::kStrict), true}};
}

Offer<SoftmaxBackward> SoftmaxGradientOffer(const dnnl::engine& engine, const SoftmaxCall& call,
                                            const SoftmaxForward::primitive_desc& hint) {
  return {{engine, AlgorithmOf(call), call.src, call.dst, call.dst, kSoftmaxAxis, hint,
           Attributes(MathMode::kStrict), true}};
}

dnnl::eltwise_backward::primitive_desc ReluGradient(const dnnl::engine& engine,
                                                    const memory::desc& data) {
  const dnnl::eltwise_forward::primitive_desc hint(engine, prop_kind::forward_training,
                                                   kReluOfResult, data, data, 0.0f, 0.0f);
  return {engine, kReluOfResult, data, data, data, 0.0f, 0.0f, hint, Attributes(MathMode::kStrict)};
}

dnnl::binary::primitive_desc Scaling(const dnnl::engine& engine, const memory::desc& data,
                                     const memory::desc& factor) {
  return {engine, algorithm::binary_mul, data, factor, data, Attributes(MathMode::kStrict)};
}

void AppendEltwise(dnnl::post_ops& operations, algorithm kind, float alpha, float beta) {
  operations.append_eltwise(kind, alpha, beta);
}

#else

memory::dims ExtentsOf(const memory::desc& desc) { return desc.dims(); }
memory::data_type TypeIn(const memory::desc& desc) { return desc.data_type(); }

// The library's implementations for an operation. The iterator reads the description of the
// operation again at each step to the next implementation, and keeps no copy of its own.
template <class Operation>
struct Offer {
  std::unique_ptr<const typename Operation::desc> operation;
  typename Operation::primitive_desc list;
};

Offer<dnnl::convolution_forward> ForwardOffer(const dnnl::engine& engine, const ConvCall& call,
                                              prop_kind kind) {
  Offer<dnnl::convolution_forward> offer;
  offer.operation = std::make_unique<const dnnl::convolution_forward::desc>(
      kind, call.algorithm, call.src, call.weights, call.bias, call.dst, call.strides, call.dilates,
      call.pads, call.pads);
  offer.list = {*offer.operation, Attributes(call.math), engine, true};
  return offer;
}

template <class Operation>
Offer<Operation> BackwardOffer(const dnnl::engine& engine, const ConvCall& call,
                               const dnnl::convolution_forward::primitive_desc& hint) {
  Offer<Operation> offer;
  offer.operation = std::make_unique<const typename Operation::desc>(
      call.algorithm, call.src, call.weights, call.dst, call.strides, call.dilates, call.pads,
      call.pads);
  offer.list = {*offer.operation, Attributes(call.math), engine, hint, true};
  return offer;
}

Offer<dnnl::matmul> MatmulOffer(const dnnl::engine& engine, const MatmulCall& call,
                                const memory::desc& bias, const dnnl::primitive_attr& attributes) {
  Offer<dnnl::matmul> offer;
  offer.operation =
      std::make_unique<const dnnl::matmul::desc>(call.src, call.weights, bias, call.dst);
  offer.list = {*offer.operation, attributes, engine, true};
  return offer;
}

Offer<dnnl::batch_normalization_forward> NormOffer(const dnnl::engine& engine,
                                                   const BatchNormCall& call, prop_kind kind) {
  Offer<dnnl::batch_normalization_forward> offer;
  offer.operation = std::make_unique<const dnnl::batch_normalization_forward::desc>(
      kind, call.data, call.epsilon, FlagsOf(call));
  offer.list = {*offer.operation, Attributes(MathMode::kStrict), engine, true};
  return offer;
}

Offer<dnnl::batch_normalization_backward> NormGradientOffer(
    const dnnl::engine& engine, const BatchNormCall& call,
    const dnnl::batch_normalization_forward::primitive_desc& hint) {
  Offer<dnnl::batch_normalization_backward> offer;
  offer.operation = std::make_unique<const dnnl::batch_normalization_backward::desc>(
      GradientsOf(call), call.data, call.data, call.epsilon, FlagsOf(call));
  offer.list = {*offer.operation, Attributes(MathMode::kStrict), engine, hint, true};
  return offer;
}

using SoftmaxForward = dnnl::softmax_v2_forward;
using SoftmaxBackward = dnnl::softmax_v2_backward;

Offer<SoftmaxForward> SoftmaxOffer(const dnnl::engine& engine, const SoftmaxCall& call,
                                   prop_kind kind) {
  Offer<SoftmaxForward> offer;
  offer.operation = std::make_unique<const SoftmaxForward::desc>(kind, AlgorithmOf(call), call.src,
                                                                 call.dst, kSoftmaxAxis);
  offer.list = {*offer.operation, Attributes(MathMode::kStrict), engine, true};
  return offer;
}

Offer<SoftmaxBackward> SoftmaxGradientOffer(const dnnl::engine& engine, const SoftmaxCall& call,
                                            const SoftmaxForward::primitive_desc& hint) {
  Offer<SoftmaxBackward> offer;
  offer.operation = std::make_unique<const SoftmaxBackward::desc>(AlgorithmOf(call), call.src,
                                                                  call.dst, call.dst, kSoftmaxAxis);
  offer.list = {*offer.operation, Attributes(MathMode::kStrict), engine, hint, true};
  return offer;
}

dnnl::eltwise_backward::primitive_desc ReluGradient(const dnnl::engine& engine,
                                                    const memory::desc& data) {
  const dnnl::eltwise_forward::desc forward(prop_kind::forward_training, kReluOfResult, data, 0.0f,
                                            0.0f);
  const dnnl::eltwise_backward::desc backward(kReluOfResult, data, data, 0.0f, 0.0f);
  return {backward, Attributes(MathMode::kStrict), engine, {forward, engine}};
}

dnnl::binary::primitive_desc Scaling(const dnnl::engine& engine, const memory::desc& data,
                                     const memory::desc& factor) {
  return {{algorithm::binary_mul, data, factor, data}, Attributes(MathMode::kStrict), engine};
}

void AppendEltwise(dnnl::post_ops& operations, algorithm kind, float alpha, float beta) {
  operations.append_eltwise(1.0f, kind, alpha, beta);
}

#endif

// The gradients want the forward pass that they belong to as a hint; layouts of its own choice do.
Offer<dnnl::convolution_forward> ForwardHint(const dnnl::engine& engine, const ConvCall& call) {
  const auto any = [](const memory::desc& desc) { return InFormat(desc, memory::format_tag::any); };
  ConvCall forward = call;
  forward.direction = ConvDirection::kForward;
  forward.algorithm = algorithm::convolution_direct;
  forward.src = any(call.src);
  forward.weights = any(call.weights);
  forward.dst = any(call.dst);
  forward.bias = memory::desc();
  return ForwardOffer(engine, forward, prop_kind::forward_training);
}

void AppendActivation(dnnl::post_ops& operations, Activation activation) {
  switch (activation) {
    case Activation::kNone:
      return;
    case Activation::kRelu:
      return AppendEltwise(operations, algorithm::eltwise_relu, 0, 0);
    case Activation::kGelu:
      return AppendEltwise(operations, algorithm::eltwise_gelu_erf, 0, 0);
    case Activation::kTanh:
      return AppendEltwise(operations, algorithm::eltwise_tanh, 0, 0);
    case Activation::kSigmoid:
      return AppendEltwise(operations, algorithm::eltwise_logistic, 0, 0);
  }
}

// Index of the bias in the list below: after alpha and beta, each of which may be absent.
int PostBiasIndex(const MatmulCall& call) { return (call.alpha != 1) + (call.beta != 0); }

dnnl::post_ops PostOperations(const MatmulCall& call) {
  dnnl::post_ops operations;
  if (call.alpha != 1) AppendEltwise(operations, algorithm::eltwise_linear, call.alpha, 0);
  if (call.beta != 0) operations.append_sum(call.beta);
  if (call.bias_after_sum) operations.append_binary(algorithm::binary_add, call.bias);
  AppendActivation(operations, call.activation);
  return operations;
}

}  // namespace

void VisitConv(const dnnl::engine& engine, const ConvCall& call, const Visitor& visitor) {
  if (call.direction == ConvDirection::kForward) {
    auto offer = ForwardOffer(engine, call, prop_kind::forward_inference);
    VisitAll(
        offer.list,
        [](const auto& at, Implementation& to) {
          to.src = at.src_desc();
          to.weights = at.weights_desc();
          to.dst = at.dst_desc();
        },
        visitor);
    return;
  }
  const auto hint = ForwardHint(engine, call);
  if (!hint.list) return;
  if (call.direction == ConvDirection::kBackwardData) {
    auto offer = BackwardOffer<dnnl::convolution_backward_data>(engine, call, hint.list);
    VisitAll(
        offer.list,
        [](const auto& at, Implementation& to) {
          to.src = at.diff_src_desc();
          to.weights = at.weights_desc();
          to.dst = at.diff_dst_desc();
        },
        visitor);
    return;
  }
  auto offer = BackwardOffer<dnnl::convolution_backward_weights>(engine, call, hint.list);
  VisitAll(
      offer.list,
      [](const auto& at, Implementation& to) {
        to.src = at.src_desc();
        to.weights = at.diff_weights_desc();
        to.dst = at.diff_dst_desc();
      },
      visitor);
}

void VisitMatmul(const dnnl::engine& engine, const MatmulCall& call, const Visitor& visitor) {
  dnnl::primitive_attr attributes = Attributes(call.math);
  attributes.set_post_ops(PostOperations(call));
  const memory::desc bias = call.bias_after_sum ? memory::desc() : call.bias;
  auto offer = MatmulOffer(engine, call, bias, attributes);
  VisitAll(
      offer.list,
      [](const auto& at, Implementation& to) {
        to.src = at.src_desc();
        to.weights = at.weights_desc();
        to.dst = at.dst_desc();
      },
      visitor);
}

void VisitBatchNorm(const dnnl::engine& engine, const BatchNormCall& call, const Visitor& visitor) {
  const bool is_inference = call.pass == BatchNormPass::kInference;
  auto forward = NormOffer(
      engine, call, is_inference ? prop_kind::forward_inference : prop_kind::forward_training);
  const auto resolve = [](const auto& at, Implementation& to) {
    to.src = at.src_desc();
    to.workspace = at.workspace_desc();
  };
  if (call.pass != BatchNormPass::kBackward) return VisitAll(forward.list, resolve, visitor);
  if (!forward.list) return;
  auto backward = NormGradientOffer(engine, call, forward.list);
  VisitAll(backward.list, resolve, visitor);
}

void VisitSoftmax(const dnnl::engine& engine, const SoftmaxCall& call, const Visitor& visitor) {
  auto forward = SoftmaxOffer(
      engine, call, call.backward ? prop_kind::forward_training : prop_kind::forward_inference);
  if (!call.backward) {
    return VisitAll(
        forward.list,
        [](const auto& at, Implementation& to) {
          to.src = at.src_desc();
          to.dst = at.dst_desc();
        },
        visitor);
  }
  if (!forward.list) return;
  auto backward = SoftmaxGradientOffer(engine, call, forward.list);
  VisitAll(
      backward.list,
      [](const auto& at, Implementation& to) {
        to.src = at.diff_src_desc();
        to.dst = at.dst_desc();
      },
      visitor);
}

bool BackwardTakesShift() { return DNNL_VERSION_MAJOR < 3; }

ChosenPrimitive MakeReluGradient(const dnnl::engine& engine, const memory::desc& data) {
  const auto pd = ReluGradient(engine, data);
  return {dnnl::eltwise_backward(pd), pd.scratchpad_desc()};
}

ChosenPrimitive MakeScaling(const dnnl::engine& engine, const memory::desc& data,
                            const memory::desc& factor) {
  const auto pd = Scaling(engine, data, factor);
  return {dnnl::binary(pd), pd.scratchpad_desc()};
}

int PostBiasArgument(const MatmulCall& call) {
  return DNNL_ARG_ATTR_MULTIPLE_POST_OP(PostBiasIndex(call)) | DNNL_ARG_SRC_1;
}

memory::data_type TypeOf(DataType type) {
  switch (type) {
    case DataType::kF32:
      return memory::data_type::f32;
    case DataType::kF16:
      return memory::data_type::f16;
    case DataType::kBf16:
      return memory::data_type::bf16;
    case DataType::kI32:
      return memory::data_type::s32;
    case DataType::kI8:
      return memory::data_type::s8;
    case DataType::kF64:
    case DataType::kF8E4M3:
    case DataType::kF8E5M2:
      return memory::data_type::undef;
  }
  return memory::data_type::undef;
}

memory::desc InFormat(const memory::desc& desc, memory::format_tag format) {
  return memory::desc(ExtentsOf(desc), TypeIn(desc), format);
}

memory::desc InDenseFormat(const memory::desc& desc) {
  const memory::dims extents = ExtentsOf(desc);
  memory::dims strides(extents.size(), 1);
  for (size_t i = extents.size(); i-- > 1;) strides[i - 1] = strides[i] * extents[i];
  return memory::desc(extents, TypeIn(desc), strides);
}

std::string LibraryVersion() {
  const dnnl_version_t* version = dnnl_version();
  return std::to_string(version->major) + "." + std::to_string(version->minor) + "." +
         std::to_string(version->patch);
}

std::string LibraryCommit() {
  const std::string hash = dnnl_version()->hash;
  return hash == "N/A" ? "" : hash;
}

bool CanSetThreadCount() {
#if DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_OMP
  return omp_set_num_threads != nullptr && omp_get_max_threads != nullptr;
#else
  return false;
#endif
}

Status CheckMemory() {
  if (MayCompileInMemory()) return Status::Ok();
  return ResourceExhausted(
      "oneDNN makes no primitives: too little is left of the address space (ulimit -v, -d or -l)");
}

Status CheckResources(int threads) {
  ATTUNE_RETURN_IF_ERROR(CheckMemory());
  return ExpectThreads(threads - 1);
}

OpenMpFunctions OpenMp() {
  if (!CanSetThreadCount()) return {};
  return {omp_get_dynamic, omp_set_dynamic, omp_get_active_level, omp_get_max_active_levels,
          omp_get_thread_limit};
}

ThreadCountScope::ThreadCountScope(int threads) : team_(OpenMp()) {
  assert(threads >= 1);
  if (!CanSetThreadCount()) return;
  previous_ = omp_get_max_threads();
  omp_set_num_threads(threads);
}

ThreadCountScope::~ThreadCountScope() {
  if (previous_ > 0) omp_set_num_threads(previous_);
}

}  // namespace attune::onednn
