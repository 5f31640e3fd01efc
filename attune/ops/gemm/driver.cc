// `MIOpenDriver gemm`.
#include "attune/ops/driver_line.h"
#include "attune/ops/gemm/gemm_operator.h"

namespace attune {
namespace {

constexpr int64_t kMaxInt = std::numeric_limits<int32_t>::max();
constexpr std::string_view kExtent = "an integer in [1, 2147483647]";
constexpr std::string_view kSwitch = "an integer; anything but 0 means yes";
constexpr std::string_view kReal = "a number";

// The initial values are MIOpenDriver's defaults.
struct GemmFlags {
  int64_t a_height = 256;
  int64_t a_width = 256;
  int64_t b_width = 256;
  int64_t batch_count = 1;
  bool column_major = false;
  bool trans_a = false;
  bool trans_b = false;
  double alpha = 1;
  double beta = 0;
};

using View = std::string_view;

template <int64_t GemmFlags::*kMember>
bool Extent(View text, GemmFlags& flags) {
  return ReadDriverInteger(text, 1, kMaxInt, flags.*kMember);
}

template <bool GemmFlags::*kMember>
bool Switch(View text, GemmFlags& flags) {
  int64_t value = 0;
  if (!ReadDriverInteger(text, std::numeric_limits<int32_t>::min(), kMaxInt, value)) return false;
  flags.*kMember = value != 0;
  return true;
}

bool AnyInteger(View text, GemmFlags&) { return IsDriverInteger(text); }

constexpr DriverFlagRule<GemmFlags> kRules[] = {
    {'m', "a_h", Extent<&GemmFlags::a_height>, kExtent},
    {'k', "a_w", Extent<&GemmFlags::a_width>, kExtent},
    {'n', "b_w", Extent<&GemmFlags::b_width>, kExtent},
    {'b', "batch_count", Extent<&GemmFlags::batch_count>, kExtent},
    {'b', "batchsize", Extent<&GemmFlags::batch_count>, kExtent},  // Its name until 2023.
    {'C', "isColMajor", Switch<&GemmFlags::column_major>, kSwitch},
    {'u', "transA", Switch<&GemmFlags::trans_a>, kSwitch},
    {'v', "transB", Switch<&GemmFlags::trans_b>, kSwitch},
    {'A', "alpha", [](View t, GemmFlags& f) { return ReadDriverReal(t, f.alpha); }, kReal},
    {'B', "beta", [](View t, GemmFlags& f) { return ReadDriverReal(t, f.beta); }, kReal},
    {'F', "forw", AnyInteger, kAnyInteger},
    {'i', "iter", AnyInteger, kAnyInteger},
    {'V', "verify", AnyInteger, kAnyInteger},
    {'t', "time", AnyInteger, kAnyInteger},
    {'p', "parallel", AnyInteger, kAnyInteger},
};

ScalarClass ClassOf(double value) {
  if (value == 0) return ScalarClass::kZero;
  return value == 1 ? ScalarClass::kOne : ScalarClass::kOther;
}

Transpose TransposeOf(bool transposed) { return transposed ? Transpose::kYes : Transpose::kNo; }

// MIOpenDriver's matrices are row-major and packed by default. A row-major GEMM is the column-major
// GEMM of the same memory with A and B swapped: C^T = B^T A^T.
Gemm GemmOf(const GemmFlags& flags, DataType type) {
  Gemm gemm;
  const bool swap = !flags.column_major;
  gemm.m = swap ? flags.b_width : flags.a_height;
  gemm.n = swap ? flags.a_height : flags.b_width;
  gemm.k = flags.a_width;
  gemm.trans_a = TransposeOf(swap ? flags.trans_b : flags.trans_a);
  gemm.trans_b = TransposeOf(swap ? flags.trans_a : flags.trans_b);
  gemm.batch_count = flags.batch_count;
  gemm.stride_a = gemm.stride_b = gemm.stride_c = kPackedStride;
  gemm.type = gemm.c_type = type;
  gemm.alpha = ClassOf(flags.alpha);
  gemm.beta = ClassOf(flags.beta);
  return Normalized(gemm);
}

}  // namespace

Parsed<std::vector<Problem>> ReadGemmCommand(const DriverLine& line, std::string_view type) {
  const auto data_type = ParseDataType(type);
  if (!data_type.has_value()) {
    return ErrorAtOffset(line.op.offset, "MIOpenDriver has no gemm of this type.");
  }
  const auto flags = ReadFlags<GemmFlags>(line, kRules, GemmFlags{});
  if (!flags) return tl::unexpected(flags.error());
  const Gemm gemm = GemmOf(*flags, *data_type);
  if (const Status status = Validate(gemm); !status.ok()) {
    return ErrorAtOffset(line.op.offset, status.message());
  }
  return std::vector<Problem>{gemm};
}

}  // namespace attune
