// `MIOpenDriver conv`.
#include <algorithm>

#include <fmt/format.h>

#include "attune/ops/conv/conv_operator.h"
#include "attune/ops/driver_line.h"
#include "attune/problem/other_op.h"

namespace attune {
namespace {

constexpr int64_t kMaxInt = std::numeric_limits<int32_t>::max();

// The flags of one command. Initial values are the defaults of MIOpenDriver.
struct ConvFlags {
  int64_t directions = 0;
  int64_t spatial_rank = 2;
  int64_t batch = 100;
  int64_t in_channels = 3;
  int64_t out_channels = 32;
  int64_t groups = 1;
  Spatial in = {32, 32, 32};
  Spatial filter = {3, 3, 3};
  Spatial pad = {0, 0, 0};
  Spatial stride = {1, 1, 1};
  Spatial dilation = {1, 1, 1};
  Spatial output_pad = {0, 0, 0};
  bool transposed = false;
  std::string_view pad_mode = "default";
  bool bias = false;
  std::string_view in_layout;  // Empty: the default of the rank.
  std::string_view weights_layout;
  std::string_view out_layout;
  int64_t vector_dimension = 0;
  int64_t vector_length = 1;
  int64_t math_type = 1;
  std::string_view in_cast = "-1";
  std::string_view weights_cast = "-1";
  std::string_view out_cast = "-1";
};

using View = std::string_view;

constexpr View kExtent = "an integer in [1, 2147483647]";
constexpr View kPad = "an integer in [0, 2147483647]";
constexpr View kCastWord = "fp32, fp16, bf16, fp8, bf8 or -1";
constexpr View kLayoutWord = "NCHW, NHWC, CHWN, NCDHW or NDHWC";
constexpr View kFileName = "a file name";

bool ReadExtent(View text, int64_t& value) { return ReadDriverInteger(text, 1, kMaxInt, value); }
bool ReadPad(View text, int64_t& value) { return ReadDriverInteger(text, 0, kMaxInt, value); }

template <Spatial ConvFlags::*kMember, size_t kAxis>
bool SpatialExtent(View text, ConvFlags& flags) {
  return ReadExtent(text, (flags.*kMember)[kAxis]);
}

template <Spatial ConvFlags::*kMember, size_t kAxis>
bool SpatialPad(View text, ConvFlags& flags) {
  return ReadPad(text, (flags.*kMember)[kAxis]);
}

template <int64_t ConvFlags::*kMember>
bool Extent(View text, ConvFlags& flags) {
  return ReadExtent(text, flags.*kMember);
}

bool IsOneOf(View word, std::initializer_list<View> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

template <View ConvFlags::*kMember>
bool LayoutWord(View text, ConvFlags& flags) {
  for (const View known : {"nchw", "nhwc", "chwn", "ncdhw", "ndhwc"}) {
    if (LowerCase(text) != known) continue;
    flags.*kMember = known;
    return true;
  }
  return false;
}

template <View ConvFlags::*kMember>
bool CastWord(View text, ConvFlags& flags) {
  flags.*kMember = text;
  return IsOneOf(text, {"fp32", "fp16", "bf16", "fp8", "bf8", "-1"});
}

bool Mode(View text, ConvFlags& flags) {
  flags.transposed = text == "trans";
  return flags.transposed || text == "conv";
}

bool PadMode(View text, ConvFlags& flags) {
  flags.pad_mode = text;
  return IsOneOf(text, {"same", "valid", "default"});
}

bool BiasSwitch(View text, ConvFlags& flags) {
  int64_t value = 0;
  if (!ReadDriverInteger(text, 0, kMaxInt, value)) return false;
  flags.bias = value != 0;
  return true;
}

// Flags of execution or checking, not of the problem: validated and dropped.
bool AnyInteger(View text, ConvFlags&) { return IsDriverInteger(text); }
bool AnyText(View, ConvFlags&) { return true; }
bool PositiveInteger(View text, ConvFlags&) {
  int64_t ignored = 0;
  return ReadExtent(text, ignored);
}

constexpr DriverFlagRule<ConvFlags> kRules[] = {
    {'n', "batchsize", Extent<&ConvFlags::batch>, kExtent},
    {'c', "in_channels", Extent<&ConvFlags::in_channels>, kExtent},
    {'H', "in_h", SpatialExtent<&ConvFlags::in, 1>, kExtent},
    {'W', "in_w", SpatialExtent<&ConvFlags::in, 2>, kExtent},
    {'k', "out_channels", Extent<&ConvFlags::out_channels>, kExtent},
    {'y', "fil_h", SpatialExtent<&ConvFlags::filter, 1>, kExtent},
    {'x', "fil_w", SpatialExtent<&ConvFlags::filter, 2>, kExtent},
    {'p', "pad_h", SpatialPad<&ConvFlags::pad, 1>, kPad},
    {'q', "pad_w", SpatialPad<&ConvFlags::pad, 2>, kPad},
    {'u', "conv_stride_h", SpatialExtent<&ConvFlags::stride, 1>, kExtent},
    {'v', "conv_stride_w", SpatialExtent<&ConvFlags::stride, 2>, kExtent},
    {'l', "dilation_h", SpatialExtent<&ConvFlags::dilation, 1>, kExtent},
    {'j', "dilation_w", SpatialExtent<&ConvFlags::dilation, 2>, kExtent},
    {'m', "mode", Mode, "conv or trans"},
    {'g', "group_count", [](View t, ConvFlags& f) { return ReadPad(t, f.groups); }, kPad},
    {'F', "forw", [](View t, ConvFlags& f) { return ReadDriverInteger(t, 0, 7, f.directions); },
     "an integer in [0, 7], the sum of 1 (forward), 2 (backward data) and 4 (backward weights)"},
    {'t', "time", AnyInteger, kAnyInteger},
    {'_', "spatial_dim",
     [](View t, ConvFlags& f) { return ReadDriverInteger(t, 2, 3, f.spatial_rank); }, "2 or 3"},
    {'!', "in_d", SpatialExtent<&ConvFlags::in, 0>, kExtent},
    {'@', "fil_d", SpatialExtent<&ConvFlags::filter, 0>, kExtent},
    {'$', "pad_d", SpatialPad<&ConvFlags::pad, 0>, kPad},
    {'#', "conv_stride_d", SpatialExtent<&ConvFlags::stride, 0>, kExtent},
    {'^', "dilation_d", SpatialExtent<&ConvFlags::dilation, 0>, kExtent},
    {'%', "trans_output_pad_d", SpatialPad<&ConvFlags::output_pad, 0>, kPad},
    {'Y', "trans_output_pad_h", SpatialPad<&ConvFlags::output_pad, 1>, kPad},
    {'X', "trans_output_pad_w", SpatialPad<&ConvFlags::output_pad, 2>, kPad},
    {'I', "in_layout", LayoutWord<&ConvFlags::in_layout>, kLayoutWord},
    {'f', "fil_layout", LayoutWord<&ConvFlags::weights_layout>, kLayoutWord},
    {'O', "out_layout", LayoutWord<&ConvFlags::out_layout>, kLayoutWord},
    {'z', "pad_mode", PadMode, "same, valid or default"},
    {'b', "bias", BiasSwitch, "an integer; anything but 0 adds a bias"},
    {'Z', "tensor_vect",
     [](View t, ConvFlags& f) { return ReadDriverInteger(t, 0, 1, f.vector_dimension); }, "0 or 1"},
    {'L', "vector_length",
     [](View t, ConvFlags& f) { return ReadDriverInteger(t, 1, 8, f.vector_length); }, "1, 4 or 8"},
    {'U', "in_cast_type", CastWord<&ConvFlags::in_cast>, kCastWord},
    {'R', "wei_cast_type", CastWord<&ConvFlags::weights_cast>, kCastWord},
    {'T', "out_cast_type", CastWord<&ConvFlags::out_cast>, kCastWord},
    {'M', "math_type", [](View t, ConvFlags& f) { return ReadDriverInteger(t, 0, 1, f.math_type); },
     "0 or 1"},
    {'i', "iter", PositiveInteger, kExtent},
    {'V', "verify", AnyInteger, kAnyInteger},
    {'w', "wall", AnyInteger, kAnyInteger},
    {'s', "search", AnyInteger, kAnyInteger},
    {'P', "printconv", AnyInteger, kAnyInteger},
    {'o', "dump_output", AnyInteger, kAnyInteger},
    {'r', "pad_val", AnyInteger, kAnyInteger},
    {'G', "gpualloc", AnyInteger, kAnyInteger},
    {'N', "init_output_nan", AnyInteger, kAnyInteger},
    {'~', "gpubuffer_check", AnyInteger, kAnyInteger},
    {'&', "tuning_policy", AnyInteger, kAnyInteger},
    {'J', "use_hip_graph", AnyInteger, kAnyInteger},
    {'C', "verification_cache", AnyText, kFileName},
    {'d', "in_data", AnyText, kFileName},
    {'e', "weights", AnyText, kFileName},
    {'a', "in_bias", AnyText, kFileName},
    {'D', "dout_data", AnyText, kFileName},
    {'S', "solution", AnyText, "a number or a name"},
};

bool AllOnes(const ConvFlags& flags, const Spatial& values) {
  return std::all_of(values.begin() + (3 - flags.spatial_rank), values.end(),
                     [](int64_t value) { return value == 1; });
}

// MIOpenDriver's "same" pads half of the missing extent, rounded down on both sides; it takes
// effect only without dilation (or for a filter of one element) and only in the plain mode.
void ApplyPadMode(ConvFlags& flags) {
  const bool undilated = AllOnes(flags, flags.dilation) || AllOnes(flags, flags.filter);
  if (flags.transposed || !undilated || flags.pad_mode == "default") return;
  for (size_t i = 0; i < flags.pad.size(); ++i) {
    const int64_t rest = flags.in[i] % flags.stride[i];
    const int64_t covered = rest == 0 ? flags.stride[i] : rest;
    flags.pad[i] =
        flags.pad_mode == "valid" ? 0 : std::max<int64_t>(flags.filter[i] - covered, 0) / 2;
  }
}

View DefaultLayout(const ConvFlags& flags) { return flags.spatial_rank == 3 ? "ncdhw" : "nchw"; }

// True if any flag has a value that a Conv cannot express.
bool IsBeyondConv(const ConvFlags& flags, View type) {
  const bool casts = flags.in_cast != "-1" || flags.weights_cast != "-1" || flags.out_cast != "-1";
  const bool foreign_layout =
      flags.in_layout == "chwn" || flags.weights_layout == "chwn" || flags.out_layout == "chwn";
  return casts || foreign_layout || flags.vector_dimension != 0 || !ParseDataType(type).has_value();
}

Conv ConvOf(const ConvFlags& flags, View type, ConvDirection direction) {
  Conv conv;
  conv.direction = direction;
  conv.mode = flags.transposed ? ConvMode::kTransposed : ConvMode::kConvolution;
  conv.spatial_rank = static_cast<int>(flags.spatial_rank);
  conv.batch = flags.batch;
  conv.in_channels = flags.in_channels;
  conv.out_channels = flags.out_channels;
  conv.groups = flags.groups;
  for (size_t axis = flags.spatial_rank == 3 ? 0 : 1; axis < 3; ++axis) {
    conv.in[axis] = flags.in[axis];
    conv.filter[axis] = flags.filter[axis];
    conv.pad[axis] = flags.pad[axis];
    conv.stride[axis] = flags.stride[axis];
    conv.dilation[axis] = flags.dilation[axis];
    if (flags.transposed) conv.output_pad[axis] = flags.output_pad[axis];
  }
  conv.in_layout = *ParseLayout(flags.in_layout);
  conv.weights_layout = *ParseLayout(flags.weights_layout);
  conv.out_layout = *ParseLayout(flags.out_layout);
  conv.type = *ParseDataType(type);
  // The driver's math type 0 lets MIOpen use TF32 where it has it.
  if (flags.math_type == 0 && conv.type == DataType::kF32) conv.math = MathMode::kTf32;
  conv.bias = flags.bias && direction == ConvDirection::kForward;
  return conv;
}

// The same sizes and directions with only the fields of a Conv.
Conv PlainConvOf(const ConvFlags& flags, ConvDirection direction) {
  ConvFlags plain = flags;
  plain.in_layout = plain.weights_layout = plain.out_layout = DefaultLayout(flags);
  return ConvOf(plain, "f32", direction);
}

// The keys of the plain convolution, then those that a Conv lacks.
OtherOp VariantOf(const ConvFlags& flags, View type, ConvDirection direction) {
  OtherOp other;
  other.op = "conv_variant";
  const std::string text = Text(Problem(PlainConvOf(flags, direction)));
  for (size_t begin = text.find('{') + 1; begin < text.size();) {
    const size_t equals = text.find('=', begin);
    const size_t end = text.find_first_of(",}", equals);
    other.attributes.emplace(text.substr(begin, equals - begin),
                             text.substr(equals + 1, end - equals - 1));
    begin = end + 1;
  }
  const auto set = [&other](const char* key, View value) { other.attributes[key] = value; };
  set("type", type);
  set("layout", flags.in_layout);
  set("wlayout", flags.weights_layout);
  set("ylayout", flags.out_layout);
  set("xcast", flags.in_cast);
  set("wcast", flags.weights_cast);
  set("ycast", flags.out_cast);
  set("vector", std::to_string(flags.vector_length));
  return other;
}

Parsed<ConvFlags> Completed(const DriverLine& line, ConvFlags flags) {
  const bool vectorized =
      flags.vector_dimension == 1 && (flags.vector_length == 4 || flags.vector_length == 8);
  if (!vectorized && (flags.vector_dimension != 0 || flags.vector_length != 1)) {
    return ErrorAtOffset(
        line.op.offset,
        fmt::format("--tensor_vect {} does not go with --vector_length {}; MIOpenDriver "
                    "takes 0 with 1, or 1 with 4 or 8.",
                    flags.vector_dimension, flags.vector_length));
  }
  flags.groups = std::max<int64_t>(flags.groups, 1);
  for (View* const layout : {&flags.in_layout, &flags.weights_layout, &flags.out_layout}) {
    if (layout->empty()) *layout = DefaultLayout(flags);
    if (static_cast<int64_t>(layout->size()) == flags.spatial_rank + 2) continue;
    return ErrorAtOffset(line.op.offset, fmt::format("Layout {} does not fit --spatial_dim {}.",
                                                     *layout, flags.spatial_rank));
  }
  ApplyPadMode(flags);
  return flags;
}

std::string_view DriverOperatorName(DataType type) {
  switch (type) {
    case DataType::kF32:
      return "conv";
    case DataType::kF16:
      return "convfp16";
    case DataType::kBf16:
      return "convbfp16";
    case DataType::kI8:
      return "convint8";
    default:
      return "";
  }
}

Status CheckExpressible(const Conv& conv) {
  ATTUNE_RETURN_IF_ERROR(Validate(conv));
  const Conv plain;
  if (DriverOperatorName(conv.type).empty()) {
    return Unsupported(fmt::format("MIOpenDriver has no type {}.", Name(conv.type)));
  }
  if (conv.math != plain.math || conv.alignment_bytes != plain.alignment_bytes ||
      conv.deterministic) {
    return Unsupported(
        fmt::format("MIOpenDriver cannot express math mode {}, alignment {} and determinism {}.",
                    Name(conv.math), conv.alignment_bytes, conv.deterministic));
  }
  return Status::Ok();
}

int DirectionBits(ConvDirection direction) {
  return direction == ConvDirection::kForward        ? 1
         : direction == ConvDirection::kBackwardData ? 2
                                                     : 4;
}

// Long names, because the letters for depth are special to shells.
std::string DepthFlags(const Conv& conv) {
  std::string flags = fmt::format(
      " --spatial_dim 3 --in_d {} --fil_d {} --pad_d {} --conv_stride_d {} --dilation_d {}",
      conv.in[0], conv.filter[0], conv.pad[0], conv.stride[0], conv.dilation[0]);
  if (conv.output_pad[0] != 0) flags += fmt::format(" --trans_output_pad_d {}", conv.output_pad[0]);
  return flags;
}

std::string LayoutFlags(const Conv& conv) {
  const Layout plain = conv.spatial_rank == 3 ? Layout::kNcdhw : Layout::kNchw;
  std::string flags;
  const auto append = [&](std::string_view flag, Layout layout) {
    if (layout != plain) flags += fmt::format(" --{} {}", flag, UpperCase(Name(layout)));
  };
  append("in_layout", conv.in_layout);
  append("fil_layout", conv.weights_layout);
  append("out_layout", conv.out_layout);
  return flags;
}

}  // namespace

Parsed<std::vector<Problem>> ReadConvCommand(const DriverLine& line, std::string_view type) {
  auto read = ReadFlags<ConvFlags>(line, kRules, ConvFlags{});
  if (!read) return tl::unexpected(read.error());
  const auto flags = Completed(line, *read);
  if (!flags) return tl::unexpected(flags.error());
  const int64_t directions = flags->directions == 0 ? 7 : flags->directions;
  std::vector<Problem> problems;
  for (const auto direction :
       {ConvDirection::kForward, ConvDirection::kBackwardData, ConvDirection::kBackwardWeights}) {
    if ((directions >> static_cast<int>(direction) & 1) == 0) continue;
    // The sizes must be possible even when the problem becomes an OtherOp.
    const Status status = Validate(PlainConvOf(*flags, direction));
    if (!status.ok()) {
      return ErrorAtOffset(line.op.offset, status.message());
    }
    if (IsBeyondConv(*flags, type)) {
      problems.emplace_back(VariantOf(*flags, type, direction));
    } else {
      problems.emplace_back(ConvOf(*flags, type, direction));
    }
  }
  return problems;
}

Result<std::string> DriverCommandOf(const Conv& conv) {
  ATTUNE_RETURN_IF_ERROR(CheckExpressible(conv));
  const bool transposed = conv.mode == ConvMode::kTransposed;
  std::string command = fmt::format(
      "MIOpenDriver {} -n {} -c {} -H {} -W {} -k {} -y {} -x {} -p {} -q {} -u {} -v {} -l {} -j "
      "{} "
      "-m {} -g {} -F {}",
      DriverOperatorName(conv.type), conv.batch, conv.in_channels, conv.in[1], conv.in[2],
      conv.out_channels, conv.filter[1], conv.filter[2], conv.pad[1], conv.pad[2], conv.stride[1],
      conv.stride[2], conv.dilation[1], conv.dilation[2], transposed ? "trans" : "conv",
      conv.groups, DirectionBits(conv.direction));
  if (conv.output_pad[1] != 0) command += fmt::format(" -Y {}", conv.output_pad[1]);
  if (conv.output_pad[2] != 0) command += fmt::format(" -X {}", conv.output_pad[2]);
  if (conv.spatial_rank == 3) command += DepthFlags(conv);
  command += LayoutFlags(conv);
  if (conv.bias) command += " -b 1";
  return command;
}

}  // namespace attune
