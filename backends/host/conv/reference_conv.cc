#include "backends/host/conv/reference_conv.h"

#include <algorithm>
#include <string>

#include "attune/ops/conv/conv.h"
#include "attune/problem/problem.h"
#include "backends/host/conv/conv_form.h"
#include "backends/host/conv/tap_conv.h"
#include "backends/host/gemm/narrow_float.h"

namespace attune::host {
namespace {

// The plain convolution of a transposed one: forward and backward data passes change places, and so
// do its images.
Conv PlainOf(Conv conv) {
  if (conv.mode == ConvMode::kConvolution) return conv;
  const Spatial out = OutputExtent(conv);
  conv.mode = ConvMode::kConvolution;
  std::swap(conv.in_channels, conv.out_channels);
  std::swap(conv.in_layout, conv.out_layout);
  conv.in = out;
  conv.output_pad = {0, 0, 0};
  conv.bias = false;
  if (conv.direction == ConvDirection::kForward) {
    conv.direction = ConvDirection::kBackwardData;
  } else if (conv.direction == ConvDirection::kBackwardData) {
    conv.direction = ConvDirection::kForward;
  }
  return conv;
}

// Addresses of the operands under the names that they have in the plain convolution.
struct Addresses {
  std::byte* x = nullptr;
  std::byte* w = nullptr;
  std::byte* y = nullptr;
  const std::byte* bias = nullptr;
};

// One sum for one output element.
class ReferenceLoops {
 public:
  ReferenceLoops(const Conv& conv, const Addresses& addresses)
      : type_(conv.type), size_bytes_(SizeBytes(conv.type)), form_(FormOf(conv)), at_(addresses) {}

  void Forward(int64_t n, int64_t k) const {
    ForEach(form_.y.extents, [&](const Spatial& out) {
      double sum = BiasOf(k);
      ForEach(form_.w.extents, [&](const Spatial& tap) {
        Spatial in;
        if (!InputOf(out, tap, in)) return;
        sum += SumOverChannels(n, k, in, tap);
      });
      Write(at_.y, form_.y, n, k, out, sum);
    });
  }

  void BackwardData(int64_t n, int64_t channel) const {
    const int64_t group = channel / form_.in_channels;
    ForEach(form_.x.extents, [&](const Spatial& in) {
      double sum = BiasOf(channel);
      ForEach(form_.w.extents, [&](const Spatial& tap) {
        Spatial out;
        if (!OutputOf(in, tap, out)) return;
        for (int64_t i = 0; i < form_.out_channels; ++i) {
          const int64_t k = group * form_.out_channels + i;
          sum += Read(at_.y, form_.y, n, k, out) *
                 Read(at_.w, form_.w, k, channel % form_.in_channels, tap);
        }
      });
      Write(at_.x, form_.x, n, channel, in, sum);
    });
  }

  void BackwardWeights(int64_t k, int64_t c) const {
    const int64_t channel = k / form_.out_channels * form_.in_channels + c;
    ForEach(form_.w.extents, [&](const Spatial& tap) {
      double sum = 0;
      for (int64_t n = 0; n < form_.batch; ++n) {
        ForEach(form_.y.extents, [&](const Spatial& out) {
          Spatial in;
          if (!InputOf(out, tap, in)) return;
          sum += Read(at_.x, form_.x, n, channel, in) * Read(at_.y, form_.y, n, k, out);
        });
      }
      Write(at_.w, form_.w, k, c, tap, sum);
    });
  }

  const ConvForm& form() const { return form_; }

 private:
  template <class Body>
  static void ForEach(const Spatial& extents, const Body& body) {
    for (int64_t d = 0; d < extents[0]; ++d) {
      for (int64_t h = 0; h < extents[1]; ++h) {
        for (int64_t w = 0; w < extents[2]; ++w) body(Spatial{d, h, w});
      }
    }
  }

  // False if the tap falls into the padding.
  bool InputOf(const Spatial& out, const Spatial& tap, Spatial& in) const {
    for (size_t i = 0; i < 3; ++i) {
      in[i] = out[i] * form_.stride[i] + tap[i] * form_.dilation[i] - form_.pad[i];
      if (in[i] < 0 || in[i] >= form_.x.extents[i]) return false;
    }
    return true;
  }

  bool OutputOf(const Spatial& in, const Spatial& tap, Spatial& out) const {
    for (size_t i = 0; i < 3; ++i) {
      const int64_t distance = in[i] + form_.pad[i] - tap[i] * form_.dilation[i];
      if (distance < 0 || distance % form_.stride[i] != 0) return false;
      out[i] = distance / form_.stride[i];
      if (out[i] >= form_.y.extents[i]) return false;
    }
    return true;
  }

  double SumOverChannels(int64_t n, int64_t k, const Spatial& in, const Spatial& tap) const {
    const int64_t first = k / form_.out_channels * form_.in_channels;
    double sum = 0;
    for (int64_t c = 0; c < form_.in_channels; ++c) {
      sum += Read(at_.x, form_.x, n, first + c, in) * Read(at_.w, form_.w, k, c, tap);
    }
    return sum;
  }

  double BiasOf(int64_t channel) const {
    if (at_.bias == nullptr) return 0;
    return ReadElement(type_, at_.bias + static_cast<size_t>(channel) * size_bytes_);
  }

  size_t OffsetBytes(const TensorForm& form, int64_t outer, int64_t channel,
                     const Spatial& at) const {
    return static_cast<size_t>(outer * form.outer_stride + channel * form.channel_stride +
                               at[0] * form.strides[0] + at[1] * form.strides[1] +
                               at[2] * form.strides[2]) *
           size_bytes_;
  }
  double Read(const std::byte* base, const TensorForm& form, int64_t outer, int64_t channel,
              const Spatial& at) const {
    return ReadElement(type_, base + OffsetBytes(form, outer, channel, at));
  }
  void Write(std::byte* base, const TensorForm& form, int64_t outer, int64_t channel,
             const Spatial& at, double value) const {
    WriteElement(type_, value, base + OffsetBytes(form, outer, channel, at));
  }

  const DataType type_;
  const size_t size_bytes_;
  const ConvForm form_;
  const Addresses at_;
};

class ReferenceExecutable final : public Executable {
 public:
  ReferenceExecutable(const Conv& conv, ThreadPool& pool)
      : transposed_(conv.mode == ConvMode::kTransposed),
        bias_(conv.bias),
        roles_(RolesOf(conv)),
        plain_(PlainOf(conv)),
        pool_(pool) {}

  size_t workspace_bytes() const override { return 0; }

  Status Run(const Arguments& arguments) override {
    const auto address = [&](size_t operand) {
      const BufferView& view = arguments.operands[operand];
      return static_cast<std::byte*>(view.handle) + view.offset_bytes;
    };
    Addresses addresses{address(roles_.x), address(roles_.w), address(roles_.y),
                        bias_ ? address(roles_.bias) : nullptr};
    if (transposed_) std::swap(addresses.x, addresses.y);
    const ReferenceLoops loops(plain_, addresses);
    switch (plain_.direction) {
      case ConvDirection::kForward:
        ForEachPlane(plain_.batch, plain_.out_channels,
                     [&](int64_t n, int64_t k) { loops.Forward(n, k); });
        break;
      case ConvDirection::kBackwardData:
        ForEachPlane(plain_.batch, plain_.in_channels,
                     [&](int64_t n, int64_t c) { loops.BackwardData(n, c); });
        break;
      case ConvDirection::kBackwardWeights:
        ForEachPlane(plain_.out_channels, loops.form().in_channels,
                     [&](int64_t k, int64_t c) { loops.BackwardWeights(k, c); });
        break;
    }
    return Status::Ok();
  }

 private:
  template <class Body>
  void ForEachPlane(int64_t outer, int64_t channels, const Body& body) {
    const int parts = pool_.max_threads();
    pool_.Run(parts, [&](int part) {
      const WorkRange share = ShareOf(outer * channels, part, parts);
      for (int64_t i = share.begin; i < share.end; ++i) body(i / channels, i % channels);
    });
  }

  const bool transposed_;
  const bool bias_;
  const ConvRoles roles_;
  const Conv plain_;
  ThreadPool& pool_;
};

class ReferenceConvSolver final : public Solver {
 public:
  explicit ReferenceConvSolver(ThreadPool& pool) : pool_(pool) {}

  const SolverId& id() const override { return id_; }
  const SolverTraits& traits() const override { return traits_; }

  Status IsApplicable(const Problem& problem, const Target& target) const override {
    if (target.backend != "host") {
      return Unsupported("host.reference-conv runs on the host, not on backend '" + target.backend +
                         "'.");
    }
    const Conv* conv = problem.As<Conv>();
    if (conv == nullptr) return Unsupported("host.reference-conv computes convolutions only.");
    if (conv->type == DataType::kF8E4M3 || conv->type == DataType::kF8E5M2) {
      return Unsupported("host.reference-conv does not compute " + std::string(Name(conv->type)) +
                         ".");
    }
    return Status::Ok();
  }

  Result<ConfigSpace> Space(const Problem& problem, const Target& target) const override {
    ATTUNE_RETURN_IF_ERROR(IsApplicable(problem, target));
    return ConfigSpace();
  }

  Result<BuildRecipe> Recipe(const Problem&, const Config&, const Target&) const override {
    return BuildRecipe();
  }
  Result<Artifact> Build(const BuildRecipe&) const override { return Artifact(); }

  Result<std::unique_ptr<Executable>> Load(const Artifact&, const Problem& problem, const Config&,
                                           Device&) const override {
    return std::unique_ptr<Executable>(
        std::make_unique<ReferenceExecutable>(problem.Get<Conv>(), pool_));
  }

 private:
  const SolverId id_{"host.reference-conv", 1};
  const SolverTraits traits_{.description = "The definition as loops, sums in double precision",
                             .operator_name = "conv",
                             .instant = true,
                             .last_resort = true};
  ThreadPool& pool_;
};

}  // namespace

std::unique_ptr<const Solver> MakeReferenceConvSolver(ThreadPool& pool) {
  return std::make_unique<ReferenceConvSolver>(pool);
}

}  // namespace attune::host
