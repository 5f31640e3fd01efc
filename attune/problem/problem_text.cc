#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "attune/problem/escaping.h"
#include "attune/problem/field_list.h"
#include "attune/problem/limits.h"
#include "attune/problem/problem.h"

namespace attune {
namespace {

constexpr int kVersion = 1;

// What Validate() lets through: the limits of the numbers as people are told them.
constexpr std::string_view kExtent = "an integer in [1, 2147483647]";
constexpr std::string_view kPad = "an integer in [0, 2147483647]";
constexpr std::string_view kOutputPad =
    "an integer from 0 to one less than the stride, and only 0 without mode=trans";
constexpr std::string_view kGroups = "an integer in [1, 2147483647] that divides c and k";
constexpr std::string_view kLeading =
    "an integer from its stored rows to 2147483647, or 0 for the stored rows";
constexpr std::string_view kStride = "an integer in [0, 1099511627775]";
constexpr std::string_view kStrideOfC =
    "an integer in [1, 1099511627775], or 0 for matrices one after the other";
constexpr std::string_view kAlignment = "a power of two from the size of an element to 4096";
constexpr std::string_view kFlag = "0 or 1";
constexpr std::string_view kTransposeWord = "n or t";
constexpr std::string_view kTypeWord = "f64, f32, f16, bf16, i32, i8, f8e4m3 or f8e5m2";
constexpr std::string_view kMathWord = "strict, tf32 or bf16";
constexpr std::string_view kScalarWord = "zero, one or other";
constexpr std::string_view kLayoutWord = "nchw, nhwc, ncdhw or ndhwc";

constexpr std::string_view kTransposeNames[] = {"n", "t"};
constexpr std::string_view kScalarNames[] = {"zero", "one", "other"};
constexpr std::string_view kBiasNames[] = {"none", "row", "column"};
constexpr std::string_view kActivationNames[] = {"none", "relu", "gelu", "tanh", "sigmoid"};

template <class Enum, size_t kSize>
bool ReadName(std::string_view text, const std::string_view (&names)[kSize], Enum& value) {
  const auto* const found = std::find(std::begin(names), std::end(names), text);
  if (found == std::end(names)) return false;
  value = static_cast<Enum>(found - std::begin(names));
  return true;
}

template <class Enum, size_t kSize>
std::string_view NameIn(const std::string_view (&names)[kSize], Enum value) {
  return names[static_cast<size_t>(value)];
}

// Appends `key=value,` for what differs from its default.
class FieldWriter {
 public:
  explicit FieldWriter(std::string_view op) {
    text_.reserve(192);
    text_ += op;
    text_ += "@1{";
  }

  FieldWriter& Integer(std::string_view key, int64_t value) {
    std::array<char, 24> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    return Word(key, std::string_view(digits.data(), static_cast<size_t>(end - digits.data())));
  }
  FieldWriter& IntegerUnless(int64_t fallback, std::string_view key, int64_t value) {
    return value == fallback ? *this : Integer(key, value);
  }
  FieldWriter& Word(std::string_view key, std::string_view value) {
    text_ += key;
    text_ += '=';
    text_ += value;
    text_ += ',';
    return *this;
  }
  FieldWriter& WordUnless(std::string_view fallback, std::string_view key, std::string_view value) {
    return value == fallback ? *this : Word(key, value);
  }

  std::string Finish() {
    if (text_.back() == ',') text_.pop_back();
    text_ += '}';
    return std::move(text_);
  }

 private:
  std::string text_;
};

std::string TextOf(const Gemm& raw) {
  const Gemm gemm = Normalized(raw);
  Gemm packed = gemm;
  packed.lda = packed.ldb = packed.ldc = 0;
  packed = Normalized(packed);
  Gemm stacked = gemm;
  stacked.stride_a = stacked.stride_b = stacked.stride_c = kPackedStride;
  stacked = Normalized(stacked);
  FieldWriter writer("gemm");
  writer.Integer("m", gemm.m).Integer("n", gemm.n).Integer("k", gemm.k);
  writer.WordUnless("n", "ta", NameIn(kTransposeNames, gemm.trans_a));
  writer.WordUnless("n", "tb", NameIn(kTransposeNames, gemm.trans_b));
  writer.IntegerUnless(packed.lda, "lda", gemm.lda);
  writer.IntegerUnless(packed.ldb, "ldb", gemm.ldb);
  writer.IntegerUnless(packed.ldc, "ldc", gemm.ldc);
  writer.IntegerUnless(1, "batch", gemm.batch_count);
  writer.IntegerUnless(stacked.stride_a, "sa", gemm.stride_a);
  writer.IntegerUnless(stacked.stride_b, "sb", gemm.stride_b);
  writer.IntegerUnless(stacked.stride_c, "sc", gemm.stride_c);
  writer.WordUnless("f32", "type", Name(gemm.type));
  writer.WordUnless(Name(gemm.type), "ctype", Name(gemm.c_type));
  writer.WordUnless("strict", "math", Name(gemm.math));
  writer.WordUnless("one", "alpha", NameIn(kScalarNames, gemm.alpha));
  writer.WordUnless("zero", "beta", NameIn(kScalarNames, gemm.beta));
  writer.WordUnless("none", "bias", NameIn(kBiasNames, gemm.bias));
  writer.WordUnless("none", "act", NameIn(kActivationNames, gemm.activation));
  writer.IntegerUnless(64, "align", gemm.alignment_bytes);
  writer.IntegerUnless(0, "det", gemm.deterministic ? 1 : 0);
  return writer.Finish();
}

// Writes one key for each axis, the depth one only in 3-D: `prefix` + "d", "h", "w".
void WriteSpatial(const Conv& conv, const std::string_view (&keys)[3], const Spatial& values,
                  int64_t fallback, FieldWriter& writer) {
  for (size_t axis = conv.spatial_rank == 3 ? 0 : 1; axis < 3; ++axis) {
    writer.IntegerUnless(fallback, keys[axis], values[axis]);
  }
}

constexpr std::string_view kInKeys[] = {"d", "h", "w"};
constexpr std::string_view kFilterKeys[] = {"fd", "fh", "fw"};
constexpr std::string_view kPadKeys[] = {"pd", "ph", "pw"};
constexpr std::string_view kStrideKeys[] = {"sd", "sh", "sw"};
constexpr std::string_view kDilationKeys[] = {"dd", "dh", "dw"};
constexpr std::string_view kOutputPadKeys[] = {"opd", "oph", "opw"};
constexpr int64_t kAlways = -1;  // No extent, so no value is the default.

std::string TextOf(const Conv& conv) {
  FieldWriter writer("conv");
  writer.Word("dir", Name(conv.direction));
  writer.WordUnless("conv", "mode", conv.mode == ConvMode::kTransposed ? "trans" : "conv");
  writer.Integer("n", conv.batch).Integer("c", conv.in_channels);
  WriteSpatial(conv, kInKeys, conv.in, kAlways, writer);
  writer.Integer("k", conv.out_channels);
  WriteSpatial(conv, kFilterKeys, conv.filter, kAlways, writer);
  writer.IntegerUnless(1, "g", conv.groups);
  WriteSpatial(conv, kPadKeys, conv.pad, 0, writer);
  WriteSpatial(conv, kStrideKeys, conv.stride, 1, writer);
  WriteSpatial(conv, kDilationKeys, conv.dilation, 1, writer);
  WriteSpatial(conv, kOutputPadKeys, conv.output_pad, 0, writer);
  writer.WordUnless(conv.spatial_rank == 3 ? "ncdhw" : "nchw", "layout", Name(conv.in_layout));
  writer.WordUnless(Name(conv.in_layout), "wlayout", Name(conv.weights_layout));
  writer.WordUnless(Name(conv.in_layout), "ylayout", Name(conv.out_layout));
  writer.WordUnless("f32", "type", Name(conv.type));
  writer.WordUnless("strict", "math", Name(conv.math));
  writer.IntegerUnless(0, "bias", conv.bias ? 1 : 0);
  writer.IntegerUnless(64, "align", conv.alignment_bytes);
  writer.IntegerUnless(0, "det", conv.deterministic ? 1 : 0);
  return writer.Finish();
}

std::string TextOf(const OtherOp& other) {
  FieldWriter writer(other.op);
  for (const auto& [key, value] : other.attributes) writer.Word(key, Escaped(value));
  return writer.Finish();
}

// A gemm or a conv while it is read: what is absent takes its default from what is there.
struct GemmFields {
  Gemm gemm;
  std::optional<DataType> c_type;
};

struct ConvFields {
  Conv conv;
  std::optional<Layout> in_layout;
  std::optional<Layout> weights_layout;
  std::optional<Layout> out_layout;
};

bool ReadExtent(std::string_view text, int64_t& value) {
  return ReadInteger(text, 1, kMaxExtent, value);
}

bool ReadPad(std::string_view text, int64_t& value) {
  return ReadInteger(text, 0, kMaxExtent, value);
}

template <int64_t Gemm::*kMember>
bool GemmExtent(std::string_view text, GemmFields& fields) {
  return ReadExtent(text, fields.gemm.*kMember);
}

// 0 is what Normalized() replaces.
template <int64_t Gemm::*kMember>
bool GemmLeading(std::string_view text, GemmFields& fields) {
  return ReadInteger(text, 0, kMaxExtent, fields.gemm.*kMember);
}

template <int64_t Gemm::*kMember>
bool GemmStride(std::string_view text, GemmFields& fields) {
  return ReadInteger(text, 0, kMaxOperandElements, fields.gemm.*kMember);
}

using View = std::string_view;

constexpr FieldRule<GemmFields> kGemmRules[] = {
    {"m", GemmExtent<&Gemm::m>, kExtent},
    {"n", GemmExtent<&Gemm::n>, kExtent},
    {"k", GemmExtent<&Gemm::k>, kExtent},
    {"ta", [](View t, GemmFields& f) { return ReadName(t, kTransposeNames, f.gemm.trans_a); },
     kTransposeWord},
    {"tb", [](View t, GemmFields& f) { return ReadName(t, kTransposeNames, f.gemm.trans_b); },
     kTransposeWord},
    {"lda", GemmLeading<&Gemm::lda>, kLeading},
    {"ldb", GemmLeading<&Gemm::ldb>, kLeading},
    {"ldc", GemmLeading<&Gemm::ldc>, kLeading},
    {"batch", GemmExtent<&Gemm::batch_count>, kExtent},
    {"sa", GemmStride<&Gemm::stride_a>, kStride},
    {"sb", GemmStride<&Gemm::stride_b>, kStride},
    {"sc", GemmStride<&Gemm::stride_c>, kStrideOfC},
    {"type", [](View t, GemmFields& f) { return Assign(ParseDataType(t), f.gemm.type); },
     kTypeWord},
    {"ctype", [](View t, GemmFields& f) { return Assign(ParseDataType(t), f.c_type); }, kTypeWord},
    {"math", [](View t, GemmFields& f) { return Assign(ParseMathMode(t), f.gemm.math); },
     kMathWord},
    {"alpha", [](View t, GemmFields& f) { return ReadName(t, kScalarNames, f.gemm.alpha); },
     kScalarWord},
    {"beta", [](View t, GemmFields& f) { return ReadName(t, kScalarNames, f.gemm.beta); },
     kScalarWord},
    {"bias", [](View t, GemmFields& f) { return ReadName(t, kBiasNames, f.gemm.bias); },
     "none, row or column"},
    {"act", [](View t, GemmFields& f) { return ReadName(t, kActivationNames, f.gemm.activation); },
     "none, relu, gelu, tanh or sigmoid"},
    {"align",
     [](View t, GemmFields& f) {
       return ReadInteger(t, 1, kMaxAlignmentBytes, f.gemm.alignment_bytes);
     },
     kAlignment},
    {"det", [](View t, GemmFields& f) { return ReadFlag(t, f.gemm.deterministic); }, kFlag},
};

Parsed<Problem> ReadGemm(const FieldList& list) {
  GemmFields empty;
  empty.gemm.stride_a = empty.gemm.stride_b = empty.gemm.stride_c = kPackedStride;
  auto fields = ReadFields<GemmFields>(list, kGemmRules, 3, empty);
  if (!fields) return tl::unexpected(fields.error());
  fields->gemm.c_type = fields->c_type.value_or(fields->gemm.type);
  return Problem(Normalized(fields->gemm));
}

template <int64_t Conv::*kMember>
bool ConvExtent(std::string_view text, ConvFields& fields) {
  return ReadExtent(text, fields.conv.*kMember);
}

template <Spatial Conv::*kMember, size_t kAxis>
bool ConvSpatial(std::string_view text, ConvFields& fields) {
  return ReadExtent(text, (fields.conv.*kMember)[kAxis]);
}

template <Spatial Conv::*kMember, size_t kAxis>
bool ConvPad(std::string_view text, ConvFields& fields) {
  return ReadPad(text, (fields.conv.*kMember)[kAxis]);
}

bool ReadConvMode(std::string_view text, ConvFields& fields) {
  fields.conv.mode = text == "trans" ? ConvMode::kTransposed : ConvMode::kConvolution;
  return text == "trans" || text == "conv";
}

constexpr FieldRule<ConvFields> kConvRules[] = {
    {"dir", [](View t, ConvFields& f) { return Assign(ParseConvDirection(t), f.conv.direction); },
     "fwd, bwd_data or bwd_weights"},
    {"n", ConvExtent<&Conv::batch>, kExtent},
    {"c", ConvExtent<&Conv::in_channels>, kExtent},
    {"h", ConvSpatial<&Conv::in, 1>, kExtent},
    {"w", ConvSpatial<&Conv::in, 2>, kExtent},
    {"k", ConvExtent<&Conv::out_channels>, kExtent},
    {"fh", ConvSpatial<&Conv::filter, 1>, kExtent},
    {"fw", ConvSpatial<&Conv::filter, 2>, kExtent},
    {"d", ConvSpatial<&Conv::in, 0>, kExtent},
    {"fd", ConvSpatial<&Conv::filter, 0>, kExtent},
    {"mode", ReadConvMode, "conv or trans"},
    {"g", ConvExtent<&Conv::groups>, kGroups},
    {"pd", ConvPad<&Conv::pad, 0>, kPad},
    {"ph", ConvPad<&Conv::pad, 1>, kPad},
    {"pw", ConvPad<&Conv::pad, 2>, kPad},
    {"sd", ConvSpatial<&Conv::stride, 0>, kExtent},
    {"sh", ConvSpatial<&Conv::stride, 1>, kExtent},
    {"sw", ConvSpatial<&Conv::stride, 2>, kExtent},
    {"dd", ConvSpatial<&Conv::dilation, 0>, kExtent},
    {"dh", ConvSpatial<&Conv::dilation, 1>, kExtent},
    {"dw", ConvSpatial<&Conv::dilation, 2>, kExtent},
    {"opd", ConvPad<&Conv::output_pad, 0>, kOutputPad},
    {"oph", ConvPad<&Conv::output_pad, 1>, kOutputPad},
    {"opw", ConvPad<&Conv::output_pad, 2>, kOutputPad},
    {"layout", [](View t, ConvFields& f) { return Assign(ParseLayout(t), f.in_layout); },
     kLayoutWord},
    {"wlayout", [](View t, ConvFields& f) { return Assign(ParseLayout(t), f.weights_layout); },
     kLayoutWord},
    {"ylayout", [](View t, ConvFields& f) { return Assign(ParseLayout(t), f.out_layout); },
     kLayoutWord},
    {"type", [](View t, ConvFields& f) { return Assign(ParseDataType(t), f.conv.type); },
     kTypeWord},
    {"math", [](View t, ConvFields& f) { return Assign(ParseMathMode(t), f.conv.math); },
     kMathWord},
    {"bias", [](View t, ConvFields& f) { return ReadFlag(t, f.conv.bias); }, kFlag},
    {"align",
     [](View t, ConvFields& f) {
       return ReadInteger(t, 1, kMaxAlignmentBytes, f.conv.alignment_bytes);
     },
     kAlignment},
    {"det", [](View t, ConvFields& f) { return ReadFlag(t, f.conv.deterministic); }, kFlag},
};

const Field* FindField(const FieldList& list, std::string_view key) {
  const auto found = std::find_if(list.fields.begin(), list.fields.end(),
                                  [key](const Field& field) { return field.key == key; });
  return found == list.fields.end() ? nullptr : &*found;
}

// The key d makes a conv 3-D: it and fd stand together, and the other depth keys need them.
Parsed<int> SpatialRankOf(const FieldList& list) {
  if (FindField(list, "d") != nullptr) {
    if (FindField(list, "fd") != nullptr) return 3;
    return ErrorAtOffset(0, "conv@1 has the key d, which makes it 3-D, but no fd.");
  }
  for (const std::string_view key : {"fd", "pd", "sd", "dd", "opd"}) {
    const Field* const field = FindField(list, key);
    if (field == nullptr) continue;
    return ErrorAtOffset(field->key_offset,
                         fmt::format("Key {} needs the key d, which makes a conv 3-D.", key));
  }
  return 2;
}

Parsed<Problem> ReadConv(const FieldList& list) {
  const auto rank = SpatialRankOf(list);
  if (!rank) return tl::unexpected(rank.error());
  auto fields = ReadFields<ConvFields>(list, kConvRules, 8, ConvFields{});
  if (!fields) return tl::unexpected(fields.error());
  Conv& conv = fields->conv;
  conv.spatial_rank = *rank;
  conv.in_layout = fields->in_layout.value_or(*rank == 3 ? Layout::kNcdhw : Layout::kNchw);
  conv.weights_layout = fields->weights_layout.value_or(conv.in_layout);
  conv.out_layout = fields->out_layout.value_or(conv.in_layout);
  return Problem(conv);
}

Parsed<Problem> ReadOther(const FieldList& list) {
  OtherOp other;
  other.op = std::string(list.name);
  for (const Field& field : list.fields) {
    if (!IsOperatorWord(field.key)) {
      return ErrorAtOffset(field.key_offset, fmt::format("Key {} is not a word of [a-z][a-z0-9_]*.",
                                                         Quoted(field.key)));
    }
    auto value = Unescaped(field.value);
    if (!value.has_value()) {
      return ErrorAtOffset(field.value_offset,
                           BadValueReason(field, "characters of [A-Za-z0-9 ._+-] and %XX escapes"));
    }
    other.attributes.emplace(field.key, std::move(*value));
  }
  return Problem(other);
}

Parsed<Problem> ReadKnown(const FieldList& list) {
  if (list.version != kVersion) {
    return ErrorAtOffset(list.name.size() + 1,
                         fmt::format("{} has version {}; this program knows version {}.",
                                     Quoted(list.name), list.version, kVersion));
  }
  if (list.name == "gemm") return ReadGemm(list);
  if (list.name == "conv") return ReadConv(list);
  return ReadOther(list);
}

}  // namespace

std::string Text(const Problem& problem) {
  return std::visit([](const auto& known) { return TextOf(known); }, problem);
}

Parsed<Problem> ReadProblem(std::string_view text) {
  const auto list = SplitFields(text);
  if (!list) return tl::unexpected(list.error());
  auto problem = ReadKnown(*list);
  if (!problem) return problem;
  if (const Status status = Validate(*problem); !status.ok()) {
    return ErrorAtOffset(0, status.message());
  }
  return problem;
}

Result<Problem> ParseProblem(std::string_view text) {
  auto problem = ReadProblem(text);
  if (!problem) {
    return ToStatus(problem.error()).WithContext(fmt::format("Problem {}", Quoted(text)));
  }
  return std::move(*problem);
}

}  // namespace attune
