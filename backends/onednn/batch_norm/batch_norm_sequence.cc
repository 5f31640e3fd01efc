#include "backends/onednn/batch_norm/batch_norm_sequence.h"

#include <cmath>
#include <utility>

#include "attune/problem/problem.h"

namespace attune::onednn {
namespace {

using dnnl::memory;
using Tag = dnnl::memory::format_tag;

// The tensor as the caller stores it. With a mean for each element of an image, every element is a
// channel.
memory::desc StoredTensor(const BatchNorm& norm) {
  if (norm.mode == BatchNormMode::kPerActivation) {
    const int64_t groups = ShapeOf(norm).groups;
    return memory::desc({norm.batch, groups, 1, 1}, TypeOf(norm.type),
                        memory::dims{groups, 1, 1, 1});
  }
  const TensorDesc x = Operands(Problem(norm)).front().tensor;
  return memory::desc(x.extents, TypeOf(x.type), memory::dims(x.strides));
}

memory::desc TensorIn(const BatchNorm& norm, const std::string& layout) {
  const memory::desc stored = StoredTensor(norm);
  const bool is_deep = norm.mode == BatchNormMode::kSpatial && HasDepth(norm.layout);
  const auto in = [&](Tag flat, Tag deep) { return InFormat(stored, is_deep ? deep : flat); };
  if (layout == "nhwc") return in(Tag::acdb, Tag::acdeb);
  if (layout == "nchw") return in(Tag::abcd, Tag::abcde);
  if (layout == "blocked16") return in(Tag::aBcd16b, Tag::aBcde16b);
  if (layout == "blocked8") return in(Tag::aBcd8b, Tag::aBcde8b);
  return stored;
}

// The results that training computes from the statistics of the primitive. Absent ones are empty
// handles.
struct TrainingStatistics {
  int64_t channels = 0;
  double count = 0;  // Values of a channel.
  memory mean, variance, inverse_deviation, running_mean, running_variance;
};

void FinishTraining(const TrainingStatistics& of, const Arguments& arguments) {
  const float* const mean = FloatsOf(of.mean);
  const float* const variance = FloatsOf(of.variance);
  if (of.inverse_deviation) {
    float* const inverse = FloatsOf(of.inverse_deviation);
    for (int64_t i = 0; i < of.channels; ++i) {
      inverse[i] = static_cast<float>(1 / std::sqrt(variance[i] + arguments.alpha));
    }
  }
  if (!of.running_mean) return;
  float* const running_mean = FloatsOf(of.running_mean);
  float* const running_variance = FloatsOf(of.running_variance);
  const double momentum = arguments.beta;
  const double unbiased = of.count / (of.count - 1);
  for (int64_t i = 0; i < of.channels; ++i) {
    running_mean[i] = static_cast<float>((1 - momentum) * running_mean[i] + momentum * mean[i]);
    running_variance[i] = static_cast<float>((1 - momentum) * running_variance[i] +
                                             momentum * unbiased * variance[i]);
  }
}

// Composes the sequence of one problem around an implementation.
class BatchNormComposer {
 public:
  BatchNormComposer(const dnnl::engine& engine, const BatchNorm& norm, PrimitiveSequence& sequence)
      : engine_(engine),
        norm_(norm),
        at_(OperandsOf(norm)),
        stored_(StoredTensor(norm)),
        channels_(ShapeOf(norm).groups),
        values_({channels_}, memory::data_type::f32, Tag::a),
        sequence_(sequence) {}

  void Compose(const Implementation& implementation) {
    switch (norm_.pass) {
      case BatchNormPass::kTraining:
        return ComposeTraining(implementation);
      case BatchNormPass::kInference:
        return ComposeInference(implementation);
      case BatchNormPass::kBackward:
        return ComposeBackward(implementation);
    }
  }

 private:
  using PrimitiveArguments = PrimitiveSequence::PrimitiveArguments;

  struct Statistics {
    memory mean, variance;
  };

  memory Bind(int position, const memory::desc& desc) {
    return sequence_.BindOperand(static_cast<size_t>(position), desc);
  }
  // One value for each channel: an operand, or a part of the workspace if the problem has none.
  memory Values(int position) {
    return position < 0 ? sequence_.BindWorkspace(values_) : Bind(position, values_);
  }
  memory OptionalValues(int position) { return position < 0 ? memory() : Bind(position, values_); }

  // Appends the primitive, with the output `position` as its last argument, and the reorder of it.
  void AppendNorm(const Implementation& implementation, PrimitiveArguments arguments, int argument,
                  int position) {
    const bool is_direct = stored_ == implementation.src;
    const memory output =
        is_direct ? Bind(position, stored_) : sequence_.BindWorkspace(implementation.src);
    arguments.insert({argument, output});
    sequence_.Append(implementation.create(), std::move(arguments), implementation.scratchpad);
    if (!is_direct) sequence_.Output(static_cast<size_t>(position), stored_, output);
  }

  PrimitiveArguments ForwardArguments(const Implementation& implementation,
                                      const Statistics& statistics) {
    PrimitiveArguments arguments = {
        {DNNL_ARG_SRC, sequence_.InLayout(Bind(at_.x, stored_), implementation.src)},
        {DNNL_ARG_MEAN, statistics.mean},
        {DNNL_ARG_VARIANCE, statistics.variance}};
    if (norm_.affine) {
      arguments.insert({DNNL_ARG_SCALE, Bind(at_.gamma, values_)});
      arguments.insert({DNNL_ARG_SHIFT, Bind(at_.beta, values_)});
    }
    return arguments;
  }

  void ComposeTraining(const Implementation& implementation) {
    const Statistics statistics{Values(at_.mean), sequence_.BindWorkspace(values_)};
    PrimitiveArguments arguments = ForwardArguments(implementation, statistics);
    // The mask of the ReLU for a backward pass of oneDNN. attune keeps y instead.
    if (implementation.workspace.get_size() > 0) {
      arguments.insert({DNNL_ARG_WORKSPACE, sequence_.BindWorkspace(implementation.workspace)});
    }
    AppendNorm(implementation, std::move(arguments), DNNL_ARG_DST, at_.y);
    if (!norm_.saved && !norm_.running) return;
    const TrainingStatistics finished{channels_,
                                      static_cast<double>(ShapeOf(norm_).count()),
                                      statistics.mean,
                                      statistics.variance,
                                      OptionalValues(at_.inverse_deviation),
                                      OptionalValues(at_.running_mean),
                                      OptionalValues(at_.running_variance)};
    sequence_.Append([finished](const Arguments& call) { FinishTraining(finished, call); });
  }

  void ComposeInference(const Implementation& implementation) {
    const Statistics statistics{Bind(at_.mean, values_), sequence_.BindWorkspace(values_)};
    AddEpsilon(Bind(at_.variance, values_), statistics.variance);
    AppendNorm(implementation, ForwardArguments(implementation, statistics), DNNL_ARG_DST, at_.y);
  }

  // The primitive then has an epsilon of 0, and is valid for every epsilon.
  void AddEpsilon(const memory& from, const memory& to) {
    sequence_.Append([from, to, channels = channels_](const Arguments& call) {
      const float* const variance = FloatsOf(from);
      float* const sum = FloatsOf(to);
      for (int64_t i = 0; i < channels; ++i) {
        sum[i] = static_cast<float>(variance[i] + call.alpha);
      }
    });
  }

  void ComposeBackward(const Implementation& implementation) {
    const memory dy = sequence_.InLayout(MaskedGradient(), implementation.src);
    const memory x = sequence_.InLayout(Bind(at_.x, stored_), implementation.src);
    const Statistics statistics = norm_.saved ? SavedStatistics() : ComputedStatistics(x);
    PrimitiveArguments arguments = {{DNNL_ARG_SRC, x},
                                    {DNNL_ARG_DIFF_DST, dy},
                                    {DNNL_ARG_MEAN, statistics.mean},
                                    {DNNL_ARG_VARIANCE, statistics.variance}};
    if (norm_.affine) {
      const memory gamma = Bind(at_.gamma, values_);
      arguments.insert({DNNL_ARG_SCALE, gamma});
      if (BackwardTakesShift()) arguments.insert({DNNL_ARG_SHIFT, gamma});
      arguments.insert({DNNL_ARG_DIFF_SCALE, Bind(at_.dgamma, values_)});
      arguments.insert({DNNL_ARG_DIFF_SHIFT, Bind(at_.dbeta, values_)});
    }
    AppendNorm(implementation, std::move(arguments), DNNL_ARG_DIFF_SRC, at_.dx);
  }

  // dy, or 0 where the ReLU of the forward pass was closed.
  memory MaskedGradient() {
    const memory dy = Bind(at_.dy, stored_);
    if (at_.y < 0) return dy;
    const memory masked =
        at_.dresidual < 0 ? sequence_.BindWorkspace(stored_) : Bind(at_.dresidual, stored_);
    const ChosenPrimitive relu = MakeReluGradient(engine_, stored_);
    sequence_.Append(relu.primitive,
                     {{DNNL_ARG_DST, Bind(at_.y, stored_)},
                      {DNNL_ARG_DIFF_DST, dy},
                      {DNNL_ARG_DIFF_SRC, masked}},
                     relu.scratchpad);
    return masked;
  }

  // 1 / inverse^2, because the primitive takes the root. It includes epsilon: a subtraction of
  // epsilon would cancel if the variance is small.
  Statistics SavedStatistics() {
    const Statistics statistics{Bind(at_.mean, values_), sequence_.BindWorkspace(values_)};
    const memory inverse = Bind(at_.inverse_deviation, values_);
    sequence_.Append([inverse, variance = statistics.variance, channels = channels_](auto&) {
      const float* const from = FloatsOf(inverse);
      float* const to = FloatsOf(variance);
      for (int64_t i = 0; i < channels; ++i) {
        to[i] = static_cast<float>(1 / (static_cast<double>(from[i]) * from[i]));
      }
    });
    return statistics;
  }

  // oneDNN computes statistics in a forward pass only. Its result is not used.
  Statistics ComputedStatistics(const memory& x) {
    const Statistics statistics{sequence_.BindWorkspace(values_), sequence_.BindWorkspace(values_)};
    BatchNormCall forward;
    forward.data = x.get_desc();
    forward.affine = false;
    VisitBatchNorm(engine_, forward, [&](const Implementation& first) {
      sequence_.Append(first.create(),
                       {{DNNL_ARG_SRC, x},
                        {DNNL_ARG_DST, sequence_.BindWorkspace(forward.data)},
                        {DNNL_ARG_MEAN, statistics.mean},
                        {DNNL_ARG_VARIANCE, statistics.variance}},
                       first.scratchpad);
      return false;
    });
    AddEpsilon(statistics.variance, statistics.variance);
    return statistics;
  }

  const dnnl::engine& engine_;
  const BatchNorm& norm_;
  const BatchNormOperands at_;
  const memory::desc stored_;
  const int64_t channels_;
  const memory::desc values_;
  PrimitiveSequence& sequence_;
};

}  // namespace

BatchNormCall BatchNormCallFor(const BatchNorm& norm, const std::string& layout, float epsilon) {
  BatchNormCall call;
  call.pass = norm.pass;
  call.data = TensorIn(norm, layout);
  call.affine = norm.affine;
  call.relu = HasRelu(norm.fusion) && norm.pass != BatchNormPass::kBackward;
  call.epsilon = norm.pass == BatchNormPass::kTraining ? epsilon : 0;
  return call;
}

std::unique_ptr<PrimitiveSequence> CreateBatchNormSequence(const dnnl::engine& engine,
                                                           const BatchNorm& norm,
                                                           const Config& config, float epsilon) {
  const int threads = static_cast<int>(IntegerAt(config, "threads"));
  const ThreadCountScope scope(threads);
  std::unique_ptr<PrimitiveSequence> sequence;
  VisitBatchNorm(engine, BatchNormCallFor(norm, StringAt(config, "layout"), epsilon),
                 [&](const Implementation& implementation) {
                   if (implementation.name != StringAt(config, "impl")) return true;
                   sequence = std::make_unique<PrimitiveSequence>(engine, threads);
                   BatchNormComposer(engine, norm, *sequence).Compose(implementation);
                   return false;
                 });
  return sequence;
}

}  // namespace attune::onednn
