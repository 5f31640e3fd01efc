#include "attune/formats/tunableop.h"

#include <array>
#include <charconv>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "attune/ops/gemm/gemm.h"
#include "attune/problem/other_op.h"

namespace attune {
namespace {

enum class TunableOpKind { kGemm, kGemmAndBias, kStridedBatched, kScaled };

struct KindName {
  std::string_view prefix;
  TunableOpKind kind;
};

constexpr KindName kKinds[] = {
    {"GemmTunableOp_", TunableOpKind::kGemm},
    {"GemmAndBiasTunableOp_", TunableOpKind::kGemmAndBias},
    {"GemmStridedBatchedTunableOp_", TunableOpKind::kStridedBatched},
    {"ScaledGemmTunableOp_", TunableOpKind::kScaled},
};

struct TypeName {
  std::string_view name;
  DataType type;
  MathMode math;
};

constexpr TypeName kTypes[] = {
    {"float", DataType::kF32, MathMode::kStrict},  {"tf32", DataType::kF32, MathMode::kTf32},
    {"double", DataType::kF64, MathMode::kStrict}, {"BFloat16", DataType::kBf16, MathMode::kStrict},
    {"Half", DataType::kF16, MathMode::kStrict},
};

// Types that only an OtherOp can carry.
constexpr std::string_view kOtherTypes[] = {
    "c10::complex<float>", "c10::complex<double>", "Float8_e4m3fnuz", "Float8_e5m2fnuz",
    "Float8_e8m0fnu",      "Float8_e4m3fn",        "Float8_e5m2",     "signed char",
};

struct Part {
  std::string_view text;
  size_t offset = 0;
};

// Splits `part` at `separator`, at most once.
std::pair<Part, std::optional<Part>> SplitOnce(Part part, char separator) {
  const size_t at = part.text.find(separator);
  if (at == std::string_view::npos) return {part, std::nullopt};
  return {{part.text.substr(0, at), part.offset},
          Part{part.text.substr(at + 1), part.offset + at + 1}};
}

const KindName* FindKind(std::string_view op) {
  for (const KindName& kind : kKinds) {
    if (op.starts_with(kind.prefix)) return &kind;
  }
  return nullptr;
}

std::optional<Transpose> ParseTranspose(char letter) {
  if (letter == 'n' || letter == 'N') return Transpose::kNo;
  if (letter == 't' || letter == 'T') return Transpose::kYes;
  return std::nullopt;
}

// The content of the params field.
struct Params {
  std::string_view transposes;  // "tn"
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  int64_t batch_count = 1;
  bool batched = false;
  std::array<int64_t, 3> leading = {0, 0, 0};  // 0: the form before 2.7, which is packed.
  std::string_view rest;                       // "rw_1_bias_None" and the like, for scaled GEMMs.
};

// Reads the tokens of a params field, separated by '_'.
class ParamsReader {
 public:
  explicit ParamsReader(Part part) : left_(part) {}

  Parsed<Params> Read() {
    Params params;
    const Part transposes = Next();
    params.transposes = transposes.text;
    if (transposes.text.size() != 2 || !ParseTranspose(transposes.text[0]) ||
        !ParseTranspose(transposes.text[1])) {
      return ErrorAtOffset(transposes.offset, fmt::format("Expected two of n and t, found {}.",
                                                          Quoted(transposes.text)));
    }
    for (int64_t* const extent : {&params.m, &params.n, &params.k}) {
      if (auto error = ReadExtent(extent)) return tl::unexpected(*error);
    }
    if (Accept("B")) {
      params.batched = true;
      if (auto error = ReadExtent(&params.batch_count)) return tl::unexpected(*error);
    }
    if (Accept("ld")) {
      for (int64_t& leading : params.leading) {
        if (auto error = ReadExtent(&leading)) return tl::unexpected(*error);
      }
    }
    params.rest = left_.text;
    rest_offset_ = left_.offset;
    return params;
  }

  size_t rest_offset() const { return rest_offset_; }

 private:
  Part Next() {
    const auto [token, rest] = SplitOnce(left_, '_');
    left_ = rest.value_or(Part{{}, token.offset + token.text.size()});
    return token;
  }

  bool Accept(std::string_view word) {
    if (SplitOnce(left_, '_').first.text != word) return false;
    Next();
    return true;
  }

  std::optional<TextError> ReadExtent(int64_t* value) {
    const Part token = Next();
    if (token.text == "*") {
      return TextError{token.offset + 1,
                       "A wildcard stands for many problems; only concrete sizes can be read."};
    }
    const char* const end = token.text.data() + token.text.size();
    const auto [stop, error] = std::from_chars(token.text.data(), end, *value);
    constexpr int64_t kMax = std::numeric_limits<int32_t>::max();
    if (error == std::errc() && stop == end && *value >= 1 && *value <= kMax) return std::nullopt;
    return TextError{token.offset + 1, fmt::format("Expected an integer in [1, {}], found {}.",
                                                   kMax, Quoted(token.text))};
  }

  Part left_;
  size_t rest_offset_ = 0;
};

struct OpField {
  const KindName* kind = nullptr;
  Part types;                   // "BFloat16", or three types of a scaled GEMM.
  std::string_view transposes;  // "TN"
};

Parsed<OpField> ReadOpField(Part op) {
  OpField field;
  field.kind = FindKind(op.text);
  if (field.kind == nullptr) {
    return ErrorAtOffset(op.offset,
                         fmt::format("{} is no operator of TunableOp.", Quoted(op.text)));
  }
  const size_t last = op.text.rfind('_');
  const size_t begin = field.kind->prefix.size();
  if (last + 1 <= begin || op.text.size() - last != 3) {
    return ErrorAtOffset(op.offset + begin,
                         fmt::format("Expected a type and two transposes as in float_TN, found {}.",
                                     Quoted(op.text.substr(begin))));
  }
  field.types = {op.text.substr(begin, last - begin), op.offset + begin};
  field.transposes = op.text.substr(last + 1);
  return field;
}

// Both fields of a line give the transposes; a line with different ones is damaged.
bool SameTransposes(std::string_view op, std::string_view params) {
  return ParseTranspose(op[0]) == ParseTranspose(params[0]) &&
         ParseTranspose(op[1]) == ParseTranspose(params[1]);
}

const TypeName* FindType(std::string_view name) {
  for (const TypeName& type : kTypes) {
    if (type.name == name) return &type;
  }
  return nullptr;
}

bool IsTypeList(std::string_view types, int count) {
  const auto matches = [&](std::string_view name) {
    if (!types.starts_with(name)) return false;
    const std::string_view rest = types.substr(name.size());
    if (count == 1) return rest.empty();
    return rest.starts_with('_') && IsTypeList(rest.substr(1), count - 1);
  };
  for (const TypeName& type : kTypes) {
    if (matches(type.name)) return true;
  }
  for (const std::string_view name : kOtherTypes) {
    if (matches(name)) return true;
  }
  return false;
}

Gemm GemmOf(TunableOpKind kind, const TypeName& type, const Params& params) {
  Gemm gemm;
  gemm.m = params.m;
  gemm.n = params.n;
  gemm.k = params.k;
  gemm.trans_a = *ParseTranspose(params.transposes[0]);
  gemm.trans_b = *ParseTranspose(params.transposes[1]);
  gemm.lda = params.leading[0];
  gemm.ldb = params.leading[1];
  gemm.ldc = params.leading[2];
  gemm.batch_count = params.batch_count;
  gemm.stride_a = gemm.stride_b = gemm.stride_c = kPackedStride;
  gemm.type = gemm.c_type = type.type;
  gemm.math = type.math;
  // A bias in PyTorch has one value for each output feature, that is for each row in column-major
  // order.
  if (kind == TunableOpKind::kGemmAndBias) gemm.bias = Bias::kPerRow;
  return Normalized(gemm);
}

OtherOp OtherGemmOf(const OpField& op, std::string_view params) {
  OtherOp other;
  other.op = op.kind->kind == TunableOpKind::kScaled ? "scaled_gemm" : "other_gemm";
  other.attributes = {
      {"tunableop", std::string(op.kind->prefix.substr(0, op.kind->prefix.size() - 1))},
      {"types", std::string(op.types.text)},
      {"params", std::string(params)}};
  return other;
}

Parsed<std::vector<Problem>> ProblemsOf(const OpField& op, Part params_field) {
  ParamsReader reader(params_field);
  const auto params = reader.Read();
  if (!params) return tl::unexpected(params.error());
  const bool scaled = op.kind->kind == TunableOpKind::kScaled;
  if (!params->rest.empty() && !scaled) {
    return ErrorAtOffset(
        reader.rest_offset(),
        fmt::format("Nothing may follow the sizes, found {}.", Quoted(params->rest)));
  }
  if (params->batched != (op.kind->kind == TunableOpKind::kStridedBatched)) {
    return ErrorAtOffset(params_field.offset,
                         "A batch count (B_) belongs to batched products only.");
  }
  if (!SameTransposes(op.transposes, params->transposes)) {
    return ErrorAtOffset(params_field.offset,
                         fmt::format("The transposes {} contradict those of the operator, {}.",
                                     Quoted(params->transposes), op.transposes));
  }
  const TypeName* const type = FindType(op.types.text);
  if (scaled || type == nullptr) return std::vector<Problem>{OtherGemmOf(op, params_field.text)};
  const Gemm gemm = GemmOf(op.kind->kind, *type, *params);
  if (const Status status = Validate(gemm); !status.ok()) {
    return ErrorAtOffset(params_field.offset, status.message());
  }
  return std::vector<Problem>{gemm};
}

}  // namespace

bool IsTunableOpLine(std::string_view line) { return FindKind(line) != nullptr; }

bool IsTunableOpValidator(std::string_view line) { return line.starts_with("Validator,"); }

Parsed<std::vector<Problem>> ReadTunableOpLine(std::string_view line) {
  const auto [op_field, rest] = SplitOnce({line, 0}, ',');
  const auto op = ReadOpField(op_field);
  if (!op) return tl::unexpected(op.error());
  const int type_count = op->kind->kind == TunableOpKind::kScaled ? 3 : 1;
  if (!IsTypeList(op->types.text, type_count)) {
    return ErrorAtOffset(op->types.offset,
                         fmt::format("Expected {} type(s) of TunableOp, found {}.", type_count,
                                     Quoted(op->types.text)));
  }
  if (!ParseTranspose(op->transposes[0]) || !ParseTranspose(op->transposes[1])) {
    return ErrorAtOffset(op->types.offset + op->types.text.size() + 1,
                         fmt::format("Expected two of N and T, found {}.", Quoted(op->transposes)));
  }
  if (!rest.has_value()) return ErrorAtOffset(line.size(), "The sizes are missing.");
  return ProblemsOf(*op, SplitOnce(*rest, ',').first);
}

Result<TunableOpKey> TunableOpKeyOf(const Gemm& raw) {
  const Gemm gemm = Normalized(raw);
  const TypeName* found = nullptr;
  for (const TypeName& type : kTypes) {
    if (type.type == gemm.type && type.math == gemm.math && gemm.c_type == gemm.type) found = &type;
  }
  const bool batched = gemm.batch_count > 1;
  if (found == nullptr || gemm.bias == Bias::kPerColumn || (batched && gemm.bias != Bias::kNone)) {
    return Unsupported(fmt::format("TunableOp has no operator for {}.", Text(Problem(gemm))));
  }
  const bool ta = gemm.trans_a == Transpose::kYes;
  const bool tb = gemm.trans_b == Transpose::kYes;
  const std::string_view kind = batched                    ? "GemmStridedBatchedTunableOp"
                                : gemm.bias != Bias::kNone ? "GemmAndBiasTunableOp"
                                                           : "GemmTunableOp";
  TunableOpKey key;
  key.op = fmt::format("{}_{}_{}{}", kind, found->name, ta ? 'T' : 'N', tb ? 'T' : 'N');
  key.params = fmt::format("{}{}_{}_{}_{}{}_ld_{}_{}_{}", ta ? 't' : 'n', tb ? 't' : 'n', gemm.m,
                           gemm.n, gemm.k, batched ? fmt::format("_B_{}", gemm.batch_count) : "",
                           gemm.lda, gemm.ldb, gemm.ldc);
  return key;
}

}  // namespace attune
