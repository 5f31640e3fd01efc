// `MIOpenDriver bnorm`.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "attune/ops/batch_norm/batch_norm_operator.h"
#include "attune/ops/driver_attributes.h"
#include "attune/problem/other_op.h"

namespace attune {
namespace {

using Kind = AttributeFlag::Kind;

constexpr AttributeFlag kFlags[] = {
    IntegerFlag('F', "forw", "0", 2),
    IntegerFlag('b', "back", "0", 1),
    ExtentFlag('n', "batchsize", "32"),
    ExtentFlag('c', "in_channels", "3"),
    ExtentFlag('H', "in_h", "32"),
    ExtentFlag('W', "in_w", "32"),
    IntegerFlag('D', "in_d", "0"),
    {'L', "layout", Kind::kLayout, "", 0, 0, "nchw nhwc ncdhw ndhwc"},
    {'A', "alpha", Kind::kReal, "1"},
    {'B', "beta", Kind::kReal, "0"},
    IntegerFlag('m', "mode", "0", 1),
    IntegerFlag('s', "save", "0", 1),
    IntegerFlag('r', "run", "0", 1),
    IntegerFlag('f', "activ_mode", "0", 10),
    {'x', "activ_alpha", Kind::kReal, "1"},
    {'y', "activ_beta", Kind::kReal, "1"},
    {'I', "inverse_variance", Kind::kSwitch, "0"},
    IgnoredFlag('Q', "ping_pong_buffers"),
    IgnoredFlag('i', "iter"),
    IgnoredFlag('V', "verify"),
    IgnoredFlag('t', "time"),
    IgnoredFlag('P', "printconv"),
    IgnoredFlag('w', "wall"),
    IgnoredFlag('~', "gpubuffer_check"),
    IgnoredFlag('&', "tuning_policy"),
    IgnoredFlag('J', "use_hip_graph"),
};

// As the driver does: neither direction means training forward, and forward goes before backward.
void CompleteDirection(Attributes& attributes) {
  if (attributes["forw"] != "0") {
    attributes["back"] = "0";
  } else if (attributes["back"] == "0") {
    attributes["forw"] = "1";
  }
}

Parsed<Attributes> ReadFlagsOf(const DriverLine& line) {
  auto attributes = ReadAttributes(line, kFlags);
  if (!attributes) return attributes;
  CompleteDirection(*attributes);
  const int64_t depth = IntegerOf(*attributes, "in_d");
  std::string& layout = (*attributes)["layout"];
  if (layout.empty()) layout = depth > 0 ? "ncdhw" : "nchw";
  if (layout.size() != (depth > 0 ? 5u : 4u)) {
    return ErrorAtOffset(
        line.op.offset,
        fmt::format("Layout {} does not fit --in_d {}; 0 makes four dimensions.", layout, depth));
  }
  const std::array<int64_t, 5> extents = {
      IntegerOf(*attributes, "batchsize"), IntegerOf(*attributes, "in_channels"),
      std::max<int64_t>(depth, 1), IntegerOf(*attributes, "in_h"), IntegerOf(*attributes, "in_w")};
  if (HasTooManyElements(extents)) return TooManyElements(line.op.offset);
  return attributes;
}

// Values of miopenActivationMode_t.
constexpr std::string_view kNoActivation = "0";
constexpr std::string_view kRelu = "3";

// The type of the tensors. MIOpen's names bnormfp16fp32 and bnormbfp16fp32 say that statistics and
// parameters are f32, which they are in every BatchNorm.
std::string_view TensorTypeOf(std::string_view type) {
  if (type == "f16_f32") return "f16";
  return type == "bf16_f32" ? "bf16" : type;
}

// True for a blend with the old output, another activation, an inverse variance as an input, and
// types that a BatchNorm does not have.
bool IsBeyondBatchNorm(const Attributes& flags, std::string_view type) {
  const bool is_known_type = type == "f32" || type == "f16" || type == "bf16";
  const bool is_known_activation =
      flags.at("activ_mode") == kNoActivation || flags.at("activ_mode") == kRelu;
  const bool reads_inverse = flags.at("forw") == "2" && flags.at("inverse_variance") != "0";
  return !is_known_type || !is_known_activation || reads_inverse || flags.at("alpha") != "1" ||
         flags.at("beta") != "0";
}

BatchNorm BatchNormOf(const Attributes& flags, std::string_view type) {
  BatchNorm norm;
  const bool is_backward = flags.at("back") == "1";
  const bool is_inference = flags.at("forw") == "2";
  norm.pass = is_backward    ? BatchNormPass::kBackward
              : is_inference ? BatchNormPass::kInference
                             : BatchNormPass::kTraining;
  norm.mode = flags.at("mode") == "1" ? BatchNormMode::kSpatial : BatchNormMode::kPerActivation;
  norm.batch = IntegerOf(flags, "batchsize");
  norm.channels = IntegerOf(flags, "in_channels");
  norm.depth = std::max<int64_t>(IntegerOf(flags, "in_d"), 1);
  norm.height = IntegerOf(flags, "in_h");
  norm.width = IntegerOf(flags, "in_w");
  const std::string& layout = flags.at("layout");
  norm.layout = layout == "nchw"    ? BatchNormLayout::kNchw
                : layout == "nhwc"  ? BatchNormLayout::kNhwc
                : layout == "ncdhw" ? BatchNormLayout::kNcdhw
                                    : BatchNormLayout::kNdhwc;
  norm.saved = !is_inference && flags.at("save") == "1";
  norm.running = norm.pass == BatchNormPass::kTraining && flags.at("run") == "1";
  if (flags.at("activ_mode") == kRelu) norm.fusion = BatchNormFusion::kRelu;
  norm.type = *ParseDataType(type);
  return norm;
}

}  // namespace

Parsed<std::vector<Problem>> ReadBatchNormCommand(const DriverLine& line, std::string_view type) {
  auto flags = ReadFlagsOf(line);
  if (!flags) return tl::unexpected(flags.error());
  const std::string_view tensor_type = TensorTypeOf(type);
  if (IsBeyondBatchNorm(*flags, tensor_type)) {
    OtherOp other{"bnorm", *std::move(flags)};
    if (type != "f32") other.attributes["type"] = std::string(type);
    return std::vector<Problem>{std::move(other)};
  }
  const BatchNorm norm = BatchNormOf(*flags, tensor_type);
  if (const Status status = Validate(norm); !status.ok()) {
    return ErrorAtOffset(line.op.offset, status.message());
  }
  return std::vector<Problem>{BatchNormOperator().Canonical(norm)};
}

}  // namespace attune
