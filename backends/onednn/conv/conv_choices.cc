#include "backends/onednn/conv/conv_choices.h"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "attune/ops/conv/conv.h"
#include "attune/problem/problem.h"
#include "backends/onednn/primitive_choice.h"

namespace attune::onednn {
namespace {

using dnnl::memory;
using Tag = dnnl::memory::format_tag;

// The layout of one operand inside of the primitive.
enum class Form { kAny, kPlain, kChannelsFirst, kChannelsLast, kBlocked16, kBlocked8 };

struct LayoutChoice {
  const char* name;
  Form src, weights, dst;
};

// `any` leaves everything to the library, `plain` has no reorder at all, the mixed ones save one of
// the two data reorders. If several layouts resolve to the same formats, the first names them.
constexpr std::array kLayouts = {
    LayoutChoice{"any", Form::kAny, Form::kAny, Form::kAny},
    LayoutChoice{"plain", Form::kPlain, Form::kPlain, Form::kPlain},
    LayoutChoice{"nhwc", Form::kChannelsLast, Form::kAny, Form::kChannelsLast},
    LayoutChoice{"blocked16", Form::kBlocked16, Form::kAny, Form::kBlocked16},
    LayoutChoice{"blocked8", Form::kBlocked8, Form::kAny, Form::kBlocked8},
    LayoutChoice{"plain_src", Form::kPlain, Form::kAny, Form::kAny},
    LayoutChoice{"plain_dst", Form::kAny, Form::kAny, Form::kPlain},
    LayoutChoice{"nchw", Form::kChannelsFirst, Form::kAny, Form::kChannelsFirst},
    LayoutChoice{"plain_data", Form::kPlain, Form::kAny, Form::kPlain},
};

struct AlgorithmChoice {
  const char* name;
  dnnl::algorithm algorithm;
};
constexpr std::array kAlgorithms = {
    AlgorithmChoice{"direct", dnnl::algorithm::convolution_direct},
    AlgorithmChoice{"winograd", dnnl::algorithm::convolution_winograd},
    AlgorithmChoice{"auto", dnnl::algorithm::convolution_auto},
};

memory::desc DescOf(const TensorDesc& tensor) {
  return memory::desc(tensor.extents, TypeOf(tensor.type), memory::dims(tensor.strides));
}

// k x c/groups x ... becomes groups x k/groups x c/groups x ..., the form that oneDNN uses for
// groups.
TensorDesc SplitGroups(TensorDesc weights, int64_t groups) {
  if (groups == 1) return weights;
  const int64_t per_group = weights.extents[0] / groups;
  weights.extents[0] = per_group;
  weights.extents.insert(weights.extents.begin(), groups);
  weights.strides.insert(weights.strides.begin(), per_group * weights.strides[0]);
  return weights;
}

Tag TagOf(Form form, int spatial_rank) {
  const bool flat = spatial_rank == 2;
  switch (form) {
    case Form::kChannelsFirst:
      return flat ? Tag::abcd : Tag::abcde;
    case Form::kChannelsLast:
      return flat ? Tag::acdb : Tag::acdeb;
    case Form::kBlocked16:
      return flat ? Tag::aBcd16b : Tag::aBcde16b;
    case Form::kBlocked8:
      return flat ? Tag::aBcd8b : Tag::aBcde8b;
    case Form::kAny:
    case Form::kPlain:
      break;
  }
  return Tag::any;
}

memory::desc InForm(const TensorDesc& tensor, Form form, int spatial_rank) {
  if (form == Form::kPlain) return DescOf(tensor);
  return memory::desc(tensor.extents, TypeOf(tensor.type), TagOf(form, spatial_rank));
}

struct Tensors {
  TensorDesc src, weights, dst;
};

Tensors TensorsOf(const Conv& conv) {
  const std::vector<Operand> operands = Operands(conv);
  Tensors tensors;
  for (const Operand& operand : operands) {
    if (operand.name == "x" || operand.name == "dx") tensors.src = operand.tensor;
    if (operand.name == "w" || operand.name == "dw") tensors.weights = operand.tensor;
    if (operand.name == "y" || operand.name == "dy") tensors.dst = operand.tensor;
  }
  tensors.weights = SplitGroups(tensors.weights, conv.groups);
  return tensors;
}

memory::desc BiasOf(const Conv& conv) {
  if (!conv.bias) return memory::desc();
  return memory::desc({conv.out_channels}, TypeOf(conv.type), Tag::a);
}

// oneDNN counts the pixels of an image in an int.
Status CheckPixels(const Conv& conv) {
  const auto out_extent = OutputExtent(conv);
  for (const Spatial& image : {conv.in, out_extent}) {
    const double pixels = std::accumulate(image.begin(), image.end(), 1.0, std::multiplies<>());
    if (pixels <= std::numeric_limits<int>::max()) continue;
    return Unsupported(
        fmt::format("oneDNN computes images of at most {} pixels; one of {} has {:.0f}.",
                    std::numeric_limits<int>::max(), Text(Problem(conv)), pixels));
  }
  return Status::Ok();
}

memory::dims SpatialDims(const Spatial& values, int rank, int64_t less = 0) {
  memory::dims dims;
  for (size_t i = 3 - static_cast<size_t>(rank); i < 3; ++i) dims.push_back(values[i] - less);
  return dims;
}

struct Resolved {
  ConvChoice choice;
  memory::desc src, weights, dst;

  bool SameCode(const Resolved& other) const {
    return choice.implementation == other.choice.implementation && src == other.src &&
           weights == other.weights && dst == other.dst;
  }
};

// How far to go down the library's list.
enum class Depth { kFirst, kAll };

// Appends the library's new implementations for one call, in its order.
void Collect(const dnnl::engine& engine, const ConvCall& call, const ConvChoice& names, Depth depth,
             std::vector<Resolved>& found) {
  VisitConv(engine, call, [&](const Implementation& implementation) {
    Resolved next{names, implementation.src, implementation.weights, implementation.dst};
    next.choice.implementation = implementation.name;
    const bool seen = std::any_of(found.begin(), found.end(), [&](const Resolved& old) {
      return next.SameCode(old) || next.choice == old.choice;
    });
    if (!seen) found.push_back(std::move(next));
    return depth == Depth::kAll;
  });
}

// Reference loops look up each element by its offset in any layout, a thousand times slower than
// the rest: trying them would take most of a problem's time. The library uses them as a fallback,
// and so does this: where nothing else is offered, one stands for all, the one without reorders if
// it exists.
void LeaveOutReferences(std::vector<Resolved>& found) {
  const auto first = std::stable_partition(
      found.begin(), found.end(),
      [](const Resolved& resolved) { return !IsReference(resolved.choice.implementation); });
  if (first == found.begin() && first != found.end()) {
    const auto plain = std::find_if(first, found.end(), [](const Resolved& resolved) {
      return resolved.choice.layout == "plain";
    });
    if (plain != found.end()) std::iter_swap(first, plain);
    found.erase(first + 1, found.end());
  } else {
    found.erase(first, found.end());
  }
}

// The library's own choice, under its names in the space.
std::optional<Resolved> LibraryDefault(const Conv& conv, const dnnl::engine& engine) {
  const auto first_of = [&](const char* algorithm) {
    std::vector<Resolved> found;
    Collect(engine, *CallFor(conv, algorithm, "any"), {algorithm, "", "any"}, Depth::kFirst, found);
    return found.empty() ? std::nullopt : std::optional<Resolved>(std::move(found.front()));
  };
  const std::optional<Resolved> direct = first_of("direct");
  const std::optional<Resolved> automatic = first_of("auto");
  if (!automatic) return direct;
  if (direct && direct->SameCode(*automatic)) return direct;
  const std::optional<Resolved> winograd = first_of("winograd");
  return winograd && winograd->SameCode(*automatic) ? winograd : automatic;
}

void MoveDefaultFirst(const Conv& conv, const dnnl::engine& engine, std::vector<Resolved>& found) {
  const std::optional<Resolved> usual = LibraryDefault(conv, engine);
  if (!usual) return;
  const auto at = std::find_if(found.begin(), found.end(),
                               [&](const Resolved& resolved) { return resolved.SameCode(*usual); });
  if (at != found.end()) std::rotate(found.begin(), at, at + 1);
}

}  // namespace

PlainOperands PlainOperandsOf(const Conv& conv) {
  const Tensors tensors = TensorsOf(conv);
  return {DescOf(tensors.src), DescOf(tensors.weights), DescOf(tensors.dst), BiasOf(conv)};
}

Status CheckForm(const Conv& conv) {
  if (conv.mode != ConvMode::kConvolution) {
    return Unsupported("host.onednn-conv computes plain convolutions, not transposed ones.");
  }
  if (TypeOf(conv.type) == memory::data_type::undef) {
    return Unsupported("oneDNN has no type " + std::string(Name(conv.type)) + ".");
  }
  // oneDNN counts images in an int. If sums of these overflow, it tries divisors for minutes.
  constexpr int64_t kMostImages = int64_t{1} << 27;
  if (conv.batch > kMostImages) {
    return Unsupported(
        fmt::format("host.onednn-conv computes up to {} images, not {}.", kMostImages, conv.batch));
  }
  return CheckPixels(conv);
}

std::optional<ConvCall> CallFor(const Conv& conv, const std::string& algorithm,
                                const std::string& layout) {
  const auto named = [](const std::string& name) {
    return [&name](const auto& choice) { return choice.name == name; };
  };
  const auto form = std::find_if(kLayouts.begin(), kLayouts.end(), named(layout));
  const auto method = std::find_if(kAlgorithms.begin(), kAlgorithms.end(), named(algorithm));
  if (form == kLayouts.end() || method == kAlgorithms.end()) return std::nullopt;
  const Tensors tensors = TensorsOf(conv);
  ConvCall call;
  call.direction = conv.direction;
  call.algorithm = method->algorithm;
  call.src = InForm(tensors.src, form->src, conv.spatial_rank);
  call.weights = InForm(tensors.weights, form->weights, conv.spatial_rank);
  call.dst = InForm(tensors.dst, form->dst, conv.spatial_rank);
  call.bias = BiasOf(conv);
  call.strides = SpatialDims(conv.stride, conv.spatial_rank);
  call.dilates = SpatialDims(conv.dilation, conv.spatial_rank, 1);
  call.pads = SpatialDims(conv.pad, conv.spatial_rank);
  call.math = conv.math;
  return call;
}

std::vector<ConvChoice> EnumerateConvChoices(const Conv& conv, const dnnl::engine& engine) {
  std::vector<Resolved> found;
  // The library's own choice for a layout is named by that layout, though a later implementation of
  // another layout may be the same code.
  for (const Depth depth : {Depth::kFirst, Depth::kAll}) {
    for (const LayoutChoice& layout : kLayouts) {
      for (const AlgorithmChoice& algorithm : kAlgorithms) {
        Collect(engine, *CallFor(conv, algorithm.name, layout.name),
                {algorithm.name, "", layout.name}, depth, found);
      }
    }
  }
  LeaveOutReferences(found);
  MoveDefaultFirst(conv, engine, found);
  std::vector<ConvChoice> choices;
  for (Resolved& resolved : found) choices.push_back(std::move(resolved.choice));
  return choices;
}

std::optional<ConvChoice> DefaultConvChoice(const Conv& conv, const dnnl::engine& engine) {
  const std::optional<Resolved> usual = LibraryDefault(conv, engine);
  if (!usual || IsReference(usual->choice.implementation)) return std::nullopt;
  return usual->choice;
}

}  // namespace attune::onednn
