// MIOpenDriver bnorm. No solver here computes it: it is kept as attributes.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "attune/formats/driver_attributes.h"

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
    IntegerFlag('f', "activ_mode", "0"),
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

}  // namespace

Parsed<Attributes> ReadDriverBatchNorm(const DriverLine& line) {
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

}  // namespace attune
