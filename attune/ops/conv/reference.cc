// Every convolution relates three tensors: a large image, a small image and weights. A position q
// of the small image and a tap f of the filter meet the large image at q * stride - pad + f *
// dilation. In the plain mode the large image is the input; in the transposed mode it is the
// output, and the weights are stored the same way round: outermost the channels of the small image.
// Each direction computes one of the three tensors from the other two, as an implicit matrix
// product for each group.
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "attune/base/element.h"
#include "attune/base/never_destroyed.h"
#include "attune/base/product.h"
#include "attune/ops/conv/conv_operator.h"
#include "attune/problem/sum_tolerance.h"

namespace attune {
namespace {

// Strides of an image or of weights, depth included (stride 0 of extent 1 in 2-D).
struct Strides {
  int64_t outer = 0;
  int64_t channel = 0;
  Spatial spatial = {0, 0, 0};
};

Strides StridesOf(const TensorDesc& tensor) {
  Strides strides{tensor.strides[0], tensor.strides[1]};
  const size_t rank = tensor.strides.size() - 2;
  std::copy(tensor.strides.begin() + 2, tensor.strides.end(),
            strides.spatial.end() - static_cast<ptrdiff_t>(rank));
  return strides;
}

int64_t Offset(const Strides& strides, const Spatial& at) {
  return at[0] * strides.spatial[0] + at[1] * strides.spatial[1] + at[2] * strides.spatial[2];
}

// `index` as a position in a box of `extents`, the last one fastest.
Spatial Unflatten(int64_t index, const Spatial& extents) {
  return {index / (extents[1] * extents[2]), index / extents[2] % extents[1], index % extents[2]};
}

struct Image {
  Strides strides;
  Spatial extents = {1, 1, 1};
  int64_t channels = 1;  // In each group.
};

struct Geometry {
  Image large;
  Image small;
  Strides weights;
  Spatial filter, pad, stride, dilation;
  int64_t batch = 1;
  int64_t groups = 1;
  int64_t taps() const { return Volume(filter); }
};

Geometry GeometryOf(const Conv& conv) {
  const std::vector<Operand> operands = Operands(Problem(conv));
  const TensorDesc& first = operands[0].tensor;
  const TensorDesc& second = operands[1].tensor;
  const TensorDesc& last = operands.back().tensor;
  const TensorDesc* x = &first;
  const TensorDesc* y = &last;
  const TensorDesc* w = &second;
  if (conv.direction == ConvDirection::kBackwardData) std::swap(x, y);
  if (conv.direction == ConvDirection::kBackwardWeights) std::swap(y, w);
  Image in{StridesOf(*x), conv.in, conv.in_channels / conv.groups};
  Image out{StridesOf(*y), OutputExtent(conv), conv.out_channels / conv.groups};
  if (conv.mode == ConvMode::kTransposed) std::swap(in, out);
  return {in,          out,           StridesOf(*w), conv.filter, conv.pad,
          conv.stride, conv.dilation, conv.batch,    conv.groups};
}

// A run of positions of one image that differ in the last extent only.
struct Row {
  int64_t image = 0;
  Spatial at = {0, 0, 0};  // The first one.
  int64_t length = 0;
};

// Calls visit(row, positions before it in the range) for the rows of positions [begin, end), which
// count through `batch` images of `extents`.
template <class Visit>
void ForEachRow(ProductSource::Range positions, const Spatial& extents, Visit visit) {
  int64_t position = positions.begin;
  while (position < positions.end) {
    Row row;
    row.image = position / Volume(extents);
    row.at = Unflatten(position % Volume(extents), extents);
    row.length = std::min(extents[2] - row.at[2], positions.end - position);
    visit(row, position - positions.begin);
    position += row.length;
  }
}

// Large positions that the small positions of a row meet at one tap: where the first one lies, and
// which part [begin, end) of the row lies inside.
struct Meeting {
  Spatial at = {0, 0, 0};
  int64_t begin = 0;
  int64_t end = 0;
};

Meeting Meet(const Geometry& geometry, const Row& row, const Spatial& tap) {
  Meeting meeting;
  for (size_t i = 0; i < 3; ++i) {
    meeting.at[i] =
        row.at[i] * geometry.stride[i] - geometry.pad[i] + tap[i] * geometry.dilation[i];
  }
  for (size_t i = 0; i < 2; ++i) {
    if (meeting.at[i] < 0 || meeting.at[i] >= geometry.large.extents[i]) return meeting;
  }
  const int64_t step = geometry.stride[2];
  const int64_t first = meeting.at[2];
  const int64_t beyond = geometry.large.extents[2] - first;
  meeting.begin = std::min(row.length, first < 0 ? (-first + step - 1) / step : 0);
  meeting.end = std::clamp(beyond <= 0 ? 0 : (beyond + step - 1) / step, meeting.begin, row.length);
  return meeting;
}

// Values of a row, each `step` after the one before.
struct Steps {
  double* values;
  int64_t step;
};

// Rows of sums, one for each channel.
struct Sums {
  const double* values;
  int64_t row_stride;
};

// Shared by all three directions: the geometry and the operands. Reads `Values` and writes to
// `Output`, both indexed by offsets in elements.
template <class Values, class Output>
class ConvSource : public ProductSource {
 public:
  ConvSource(const Conv& conv, std::vector<Values> inputs, Output output)
      : geometry_(GeometryOf(conv)),
        inputs_(std::move(inputs)),
        output_(output),
        has_bias_(conv.bias) {}

 protected:
  // Large-image values that the row meets, `to` taking one for each position; 0 outside of the
  // image.
  void GatherMeeting(Values large, int64_t channel, const Row& row, const Spatial& tap,
                     const Steps& to) const {
    const Image& image = geometry_.large;
    const Meeting meeting = Meet(geometry_, row, tap);
    // An offset, not a pointer: the first position may lie before the image.
    const int64_t from = row.image * image.strides.outer + channel * image.strides.channel +
                         Offset(image.strides, meeting.at);
    const int64_t step = geometry_.stride[2] * image.strides.spatial[2];
    for (int64_t i = 0; i < meeting.begin; ++i) to.values[i * to.step] = 0;
    for (int64_t i = meeting.begin; i < meeting.end; ++i) {
      to.values[i * to.step] = large[from + i * step];
    }
    for (int64_t i = meeting.end; i < row.length; ++i) to.values[i * to.step] = 0;
  }

  // One output image, sums(channel, position).
  void StoreImage(const Image& image, int64_t group, Range channels, Range positions,
                  const Sums& sums) const {
    for (int64_t c = channels.begin; c < channels.end; ++c) {
      const int64_t channel = group * image.channels + c;
      const double bias = has_bias_ ? inputs_[2][channel] : 0;
      const double* from = sums.values + (c - channels.begin) * sums.row_stride;
      ForEachRow(positions, image.extents, [&](const Row& row, int64_t before) {
        const int64_t to = row.image * image.strides.outer + channel * image.strides.channel +
                           Offset(image.strides, row.at);
        for (int64_t i = 0; i < row.length; ++i) {
          output_[static_cast<size_t>(to + i * image.strides.spatial[2])] = from[before + i] + bias;
        }
      });
    }
  }

  int64_t WeightOffset(int64_t group, int64_t small, int64_t large, const Spatial& tap) const {
    return (group * geometry_.small.channels + small) * geometry_.weights.outer +
           large * geometry_.weights.channel + Offset(geometry_.weights, tap);
  }

  Geometry geometry_;
  std::vector<Values> inputs_;
  Output output_;
  bool has_bias_;
};

// small(channel, position) = sum over (large channel, tap) of weights * large: the plain forward.
template <class Values, class Output>
class SmallFromLarge final : public ConvSource<Values, Output> {
 public:
  using Base = ConvSource<Values, Output>;
  using Base::Base;
  using Base::geometry_;
  using Base::inputs_;
  using Range = ProductSource::Range;
  using Shape = ProductSource::Shape;

  Shape shape() const override {
    return {geometry_.groups, geometry_.small.channels,
            geometry_.batch * Volume(geometry_.small.extents),
            geometry_.large.channels * geometry_.taps()};
  }
  void GatherA(int64_t group, Range ks, Range ms, double* panel,
               int64_t row_stride) const override {
    for (int64_t k = ks.begin; k < ks.end; ++k, panel += row_stride) {
      const Spatial tap = Unflatten(k % geometry_.taps(), geometry_.filter);
      const Values from =
          inputs_[1] + Base::WeightOffset(group, ms.begin, k / geometry_.taps(), tap);
      for (int64_t i = 0; i < ms.size(); ++i) panel[i] = from[i * geometry_.weights.outer];
    }
  }
  void GatherB(int64_t group, Range ks, Range ns, double* panel,
               int64_t row_stride) const override {
    for (int64_t k = ks.begin; k < ks.end; ++k, panel += row_stride) {
      const Spatial tap = Unflatten(k % geometry_.taps(), geometry_.filter);
      const int64_t channel = group * geometry_.large.channels + k / geometry_.taps();
      ForEachRow(ns, geometry_.small.extents, [&](const Row& row, int64_t before) {
        Base::GatherMeeting(inputs_[0], channel, row, tap, {panel + before, 1});
      });
    }
  }
  void Store(int64_t group, Range ms, Range ns, const double* sums,
             int64_t row_stride) const override {
    Base::StoreImage(geometry_.small, group, ms, ns, {sums, row_stride});
  }
};

// large(channel, position) = sum over (small channel, tap) of weights * small: the plain backward
// data.
template <class Values, class Output>
class LargeFromSmall final : public ConvSource<Values, Output> {
 public:
  using Base = ConvSource<Values, Output>;
  using Base::Base;
  using Base::geometry_;
  using Base::inputs_;
  using Range = ProductSource::Range;
  using Shape = ProductSource::Shape;

  Shape shape() const override {
    return {geometry_.groups, geometry_.large.channels,
            geometry_.batch * Volume(geometry_.large.extents),
            geometry_.small.channels * geometry_.taps()};
  }
  void GatherA(int64_t group, Range ks, Range ms, double* panel,
               int64_t row_stride) const override {
    for (int64_t k = ks.begin; k < ks.end; ++k, panel += row_stride) {
      const Spatial tap = Unflatten(k % geometry_.taps(), geometry_.filter);
      const Values from =
          inputs_[1] + Base::WeightOffset(group, k / geometry_.taps(), ms.begin, tap);
      for (int64_t i = 0; i < ms.size(); ++i) panel[i] = from[i * geometry_.weights.channel];
    }
  }
  void GatherB(int64_t group, Range ks, Range ns, double* panel,
               int64_t row_stride) const override {
    for (int64_t k = ks.begin; k < ks.end; ++k, panel += row_stride) {
      const Spatial tap = Unflatten(k % geometry_.taps(), geometry_.filter);
      const int64_t channel = group * geometry_.small.channels + k / geometry_.taps();
      ForEachRow(ns, geometry_.large.extents, [&](const Row& row, int64_t before) {
        GatherSmall(channel, row, tap, panel + before);
      });
    }
  }
  void Store(int64_t group, Range ms, Range ns, const double* sums,
             int64_t row_stride) const override {
    Base::StoreImage(geometry_.large, group, ms, ns, {sums, row_stride});
  }

 private:
  // The position of the small image that meets `large` at `tap` along axis `i`, if there is one.
  std::optional<int64_t> Inverse(size_t i, int64_t large, const Spatial& tap) const {
    const int64_t scaled = large + geometry_.pad[i] - tap[i] * geometry_.dilation[i];
    if (scaled < 0 || scaled % geometry_.stride[i] != 0) return std::nullopt;
    const int64_t small = scaled / geometry_.stride[i];
    if (small >= geometry_.small.extents[i]) return std::nullopt;
    return small;
  }

  void GatherSmall(int64_t channel, const Row& row, const Spatial& tap, double* to) const {
    std::fill(to, to + row.length, 0.0);
    const std::optional<int64_t> depth = Inverse(0, row.at[0], tap);
    const std::optional<int64_t> height = Inverse(1, row.at[1], tap);
    if (!depth.has_value() || !height.has_value()) return;
    const Strides& strides = geometry_.small.strides;
    const Values from = inputs_[0] + (row.image * strides.outer + channel * strides.channel +
                                      Offset(strides, {*depth, *height, 0}));
    // The first position of the row that meets anything; from there every stride-th one does.
    const int64_t step = geometry_.stride[2];
    const int64_t shift = geometry_.pad[2] - tap[2] * geometry_.dilation[2] + row.at[2];
    int64_t i = shift < 0 ? -shift : (step - shift % step) % step;
    int64_t small = (i + shift) / step;
    for (; i < row.length && small < geometry_.small.extents[2]; i += step, ++small) {
      to[i] = from[small * strides.spatial[2]];
    }
  }
};

// weights(small channel, (large channel, tap)) = sum over positions of small * large.
template <class Values, class Output>
class WeightsFromImages final : public ConvSource<Values, Output> {
 public:
  using Base = ConvSource<Values, Output>;
  using Base::geometry_;
  using Base::output_;
  using Range = ProductSource::Range;
  using Shape = ProductSource::Shape;

  // The large image is the first input in the plain mode, the second one in the transposed mode.
  WeightsFromImages(const Conv& conv, std::vector<Values> inputs, Output output)
      : Base(conv, inputs, output),
        large_(inputs[conv.mode == ConvMode::kTransposed ? 1 : 0]),
        small_(inputs[conv.mode == ConvMode::kTransposed ? 0 : 1]) {}

  Shape shape() const override {
    return {geometry_.groups, geometry_.small.channels, geometry_.large.channels * geometry_.taps(),
            geometry_.batch * Volume(geometry_.small.extents)};
  }
  void GatherA(int64_t group, Range ks, Range ms, double* panel,
               int64_t row_stride) const override {
    const Strides& strides = geometry_.small.strides;
    ForEachRow(ks, geometry_.small.extents, [&](const Row& row, int64_t before) {
      for (int64_t m = ms.begin; m < ms.end; ++m) {
        const int64_t channel = group * geometry_.small.channels + m;
        const Values from = small_ + (row.image * strides.outer + channel * strides.channel +
                                      Offset(strides, row.at));
        double* to = panel + before * row_stride + m - ms.begin;
        for (int64_t i = 0; i < row.length; ++i) to[i * row_stride] = from[i * strides.spatial[2]];
      }
    });
  }
  void GatherB(int64_t group, Range ks, Range ns, double* panel,
               int64_t row_stride) const override {
    ForEachRow(ks, geometry_.small.extents, [&](const Row& row, int64_t before) {
      for (int64_t n = ns.begin; n < ns.end; ++n) {
        const Spatial tap = Unflatten(n % geometry_.taps(), geometry_.filter);
        const int64_t channel = group * geometry_.large.channels + n / geometry_.taps();
        Base::GatherMeeting(large_, channel, row, tap,
                            {panel + before * row_stride + n - ns.begin, row_stride});
      }
    });
  }
  void Store(int64_t group, Range ms, Range ns, const double* sums,
             int64_t row_stride) const override {
    for (int64_t m = ms.begin; m < ms.end; ++m) {
      for (int64_t n = ns.begin; n < ns.end; ++n) {
        const Spatial tap = Unflatten(n % geometry_.taps(), geometry_.filter);
        const int64_t at = Base::WeightOffset(group, m, n / geometry_.taps(), tap);
        output_[static_cast<size_t>(at)] = sums[(m - ms.begin) * row_stride + n - ns.begin];
      }
    }
  }

 private:
  Values large_;
  Values small_;
};

template <class Values, class Output>
std::unique_ptr<ProductSource> SourceOf(const Conv& conv, std::vector<Values> inputs,
                                        Output output) {
  const bool transposed = conv.mode == ConvMode::kTransposed;
  if (conv.direction == ConvDirection::kBackwardWeights) {
    return std::make_unique<WeightsFromImages<Values, Output>>(conv, std::move(inputs), output);
  }
  if ((conv.direction == ConvDirection::kForward) != transposed) {
    return std::make_unique<SmallFromLarge<Values, Output>>(conv, std::move(inputs), output);
  }
  return std::make_unique<LargeFromSmall<Values, Output>>(conv, std::move(inputs), output);
}

// F(4x4, 3x3) loses about 10 times the accuracy that direct summation loses (Lavin and Gray, table
// 6, and our own test with k from 9 to 4608).
constexpr double kWinogradGrowth = 16;

// True if libraries have Winograd's algorithm for `conv`: two filter extents of 3 or more, no
// stride, no dilation, not depthwise, not f64.
bool MayBeWinograd(const Conv& conv) {
  if (conv.type == DataType::kF64 || (conv.groups > 1 && conv.groups == conv.in_channels))
    return false;
  const bool unit = conv.stride == Spatial{1, 1, 1} && conv.dilation == Spatial{1, 1, 1};
  return unit && std::count_if(conv.filter.begin(), conv.filter.end(),
                               [](int64_t extent) { return extent >= 3; }) >= 2;
}

ProductSum SumOf(const Conv& conv) {
  ProductSum sum;
  sum.k = static_cast<double>(ReductionLengthOf(conv));
  sum.growth = MayBeWinograd(conv) ? kWinogradGrowth : 1;
  sum.added = conv.bias ? 1 : 0;
  sum.input = sum.output = conv.type;
  sum.math = conv.math;
  return sum;
}

class ConvRef final : public Reference {
 public:
  Status CheckVerifiable(const Problem& problem) const override {
    const Conv& conv = problem.Get<Conv>();
    if (!IsInteger(conv.type)) return CheckTypeOfOutput(OperandsOf(conv).back().name, conv.type);
    return Unsupported("Of integers, products of i8 into i32 are checked, and no convolutions.");
  }
  double MultiplyAdds(const Problem& problem) const override {
    return MultiplyAddsOfProducts(problem);
  }
  void Compute(const Problem& problem, std::span<const OperandValues> inputs,
               std::span<double> results, WorkWatch& watch) const override {
    const Conv& conv = problem.Get<Conv>();
    ComputeProducts(*SourceOf(conv, PointersTo(inputs), results), PrecisionFor(conv.type), watch);
  }
  GroupTolerance ToleranceOf(const Problem& problem, size_t) const override {
    return attune::ToleranceOf(SumOf(problem.Get<Conv>()));
  }
  std::unique_ptr<ProductSource> Products(const Problem& problem, std::vector<EncodedValues> inputs,
                                          OneElement output) const override {
    return SourceOf(problem.Get<Conv>(), std::move(inputs), output);
  }
};

}  // namespace

const Reference& ConvReference() {
  static const NeverDestroyed<ConvRef> reference{ConvRef()};
  return *reference;
}

}  // namespace attune
