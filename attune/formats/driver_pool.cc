// MIOpenDriver pool, with sizes as flags or as a tensor. No solver here computes it: it is kept as
// attributes.
#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "attune/formats/driver_other.h"
#include "attune/ops/driver_attributes.h"
#include "attune/problem/limits.h"

namespace attune {
namespace {

using Kind = AttributeFlag::Kind;

constexpr std::string_view kModes = "max avg avg_in";
constexpr std::string_view kPadModes = "same valid default";
constexpr std::string_view kIndexTypes =
    "miopenIndexUint8 miopenIndexUint16 miopenIndexUint32 miopenIndexUint64";

// The form of the published lists; later drivers describe tensors instead, below.
constexpr AttributeFlag kSizeFlags[] = {
    {'F', "forw", Kind::kSwitch, "0"},
    ExtentFlag('n', "batchsize", "100"),
    ExtentFlag('c', "in_channels", "3"),
    ExtentFlag('H', "in_h", "32"),
    ExtentFlag('W', "in_w", "32"),
    ExtentFlag('y', "win_h", "3"),
    ExtentFlag('x', "win_w", "3"),
    ExtentFlag('v', "pool_stride_h", "1"),
    ExtentFlag('u', "pool_stride_w", "1"),
    IntegerFlag('p', "pad_h", "0"),
    IntegerFlag('q', "pad_w", "0"),
    WordFlag('m', "mode", "max", kModes),
    WordFlag('z', "pad_mode", "default", kPadModes),
    WordFlag('I', "index_type", "miopenIndexUint8", kIndexTypes),
    IntegerFlag('M', "index_position", "0", 1),
    IgnoredFlag('r', "pad_val"),
    IgnoredFlag('i', "iter"),
    IgnoredFlag('V', "verify"),
    IgnoredFlag('t', "time"),
    IgnoredFlag('w', "wall"),
    IgnoredFlag('P', "print"),
};

constexpr AttributeFlag kTensorFlags[] = {
    {'W', "input", Kind::kText, "100x3x32x32,NCHW"},
    {'D', "dinput", Kind::kText, ""},
    {'O', "output", Kind::kText, ""},
    {'H', "doutput", Kind::kText, ""},
    {'F', "forw", Kind::kSwitch, "0"},
    ExtentFlag('Z', "win_d", "3"),
    ExtentFlag('y', "win_h", "3"),
    ExtentFlag('x', "win_w", "3"),
    ExtentFlag('s', "pool_stride_d", "1"),
    ExtentFlag('v', "pool_stride_h", "1"),
    ExtentFlag('u', "pool_stride_w", "1"),
    IntegerFlag('o', "pad_d", "0"),
    IntegerFlag('p', "pad_h", "0"),
    IntegerFlag('q', "pad_w", "0"),
    WordFlag('m', "mode", "max", kModes),
    WordFlag('z', "pad_mode", "default", kPadModes),
    WordFlag('I', "index_type", "miopenIndexUint8", kIndexTypes),
    IntegerFlag('M', "index_position", "0", 1),
    IgnoredFlag('r', "pad_val"),
    IgnoredFlag('i', "iter"),
    IgnoredFlag('V', "verify"),
    IgnoredFlag('t', "time"),
    IgnoredFlag('w', "wall"),
    IgnoredFlag('P', "print"),
    IgnoredFlag('U', "mt"),
    IgnoredFlag('j', "in_data", Kind::kIgnoredText),
    IgnoredFlag('k', "out_data", Kind::kIgnoredText),
    IgnoredFlag('l', "dump_root", Kind::kIgnoredText),
};

std::string TensorForm() {
  return fmt::format(
      "four or five sizes such as 100x3x32x32, of {} elements at most together, then perhaps a "
      "comma "
      "and a layout of as many letters or as many strides",
      kMaxOperandElements);
}

bool DescribesTensors(const DriverLine& line) {
  return std::any_of(line.flags.begin(), line.flags.end(), [](const DriverFlag& flag) {
    if (flag.is_long()) return flag.long_name().ends_with("put");
    return flag.letter() == 'W' && flag.value.text.find('x') != std::string_view::npos;
  });
}

// A tensor flag taken apart.
struct TensorText {
  std::vector<int64_t> extents;
  std::string layout;  // In upper case, as the driver's own default; empty beside strides.
  std::vector<int64_t> strides;  // Empty beside a layout.
};

// "8x3x9x9": integers of at least 1; nothing for other texts.
std::optional<std::vector<int64_t>> ReadProduct(std::string_view text) {
  std::vector<int64_t> values;
  while (true) {
    const size_t end = std::min(text.find('x'), text.size());
    if (!ReadDriverInteger(text.substr(0, end), 1, kMaxDriverInteger, values.emplace_back())) {
      return std::nullopt;
    }
    if (end == text.size()) return values;
    text.remove_prefix(end + 1);
  }
}

// Strides of the layout with channels second: the default of a tensor without a layout.
std::vector<int64_t> PackedStrides(const std::vector<int64_t>& extents) {
  std::vector<int64_t> strides(extents.size(), 1);
  for (size_t i = extents.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * extents[i];
  return strides;
}

std::string PlainLayout(const std::vector<int64_t>& extents) {
  return extents.size() == 5 ? "NCDHW" : "NCHW";
}

std::optional<TensorText> ReadTensor(std::string_view text) {
  const size_t comma = std::min(text.find(','), text.size());
  const auto extents = ReadProduct(text.substr(0, comma));
  if (!extents || extents->size() < 4 || extents->size() > 5) return std::nullopt;
  if (HasTooManyElements(*extents)) return std::nullopt;
  TensorText tensor{*extents, PlainLayout(*extents), {}};
  if (comma == text.size()) return tensor;
  const std::string_view rest = text.substr(comma + 1);
  if (!rest.empty() && rest[0] >= '0' && rest[0] <= '9') {
    const auto strides = ReadProduct(rest);
    if (!strides || strides->size() != extents->size()) return std::nullopt;
    if (*strides != PackedStrides(*extents)) {
      tensor.strides = *strides;
      tensor.layout.clear();
    }
    return tensor;
  }
  const std::string layout = UpperCase(rest);
  const bool flat = layout == "NCHW" || layout == "NHWC";
  const bool deep = layout == "NCDHW" || layout == "NDHWC";
  if (!(extents->size() == 5 ? deep : flat)) return std::nullopt;
  tensor.layout = layout;
  return tensor;
}

// One spelling for each tensor: the part behind the sizes is always there.
std::string CanonicalText(const TensorText& tensor) {
  const std::string extents = fmt::format("{}", fmt::join(tensor.extents, "x"));
  return tensor.strides.empty() ? fmt::format("{},{}", extents, tensor.layout)
                                : fmt::format("{},{}", extents, fmt::join(tensor.strides, "x"));
}

struct Axis {
  char letter;
  int64_t extent;
};

// The window has to lie in the input with its padding, or there is no output.
Parsed<Attributes> WithWindowsChecked(const DriverLine& line, const Attributes& attributes,
                                      const std::vector<Axis>& axes) {
  const std::string& pad_mode = attributes.at("pad_mode");
  if (pad_mode == "same") return attributes;
  for (const Axis& axis : axes) {
    const int64_t window = IntegerOf(attributes, fmt::format("win_{}", axis.letter));
    const int64_t pad =
        pad_mode == "valid" ? 0 : IntegerOf(attributes, fmt::format("pad_{}", axis.letter));
    if (window <= axis.extent + 2 * pad) continue;
    return ErrorAtOffset(line.op.offset,
                         fmt::format("--win_{} {} is more than the input of {} with its padding "
                                     "of {} on both sides.",
                                     axis.letter, window, axis.extent, pad));
  }
  return attributes;
}

Parsed<Attributes> ReadWithSizes(const DriverLine& line) {
  const auto attributes = ReadAttributes(line, kSizeFlags);
  if (!attributes) return attributes;
  const int64_t height = IntegerOf(*attributes, "in_h");
  const int64_t width = IntegerOf(*attributes, "in_w");
  const std::vector<int64_t> extents = {IntegerOf(*attributes, "batchsize"),
                                        IntegerOf(*attributes, "in_channels"), height, width};
  if (HasTooManyElements(extents)) return TooManyElements(line.op.offset);
  return WithWindowsChecked(line, *attributes, {{'h', height}, {'w', width}});
}

// Depth, height and width, or the last two; sizes are in the order of NCHW in any layout.
std::vector<Axis> AxesOf(const TensorText& tensor) {
  const size_t rank = tensor.extents.size() - 2;
  std::vector<Axis> axes;
  for (size_t i = 0; i < rank; ++i) {
    axes.push_back({std::string_view("dhw")[3 - rank + i], tensor.extents[2 + i]});
  }
  return axes;
}

int64_t RoundedUpQuotient(int64_t value, int64_t divisor) {
  return (value + divisor - 1) / divisor;
}

// The driver's output for the input if no output is named.
TensorText OutputOf(const TensorText& input, const Attributes& attributes) {
  TensorText output{{input.extents[0], input.extents[1]},
                    input.layout.empty() ? PlainLayout(input.extents) : input.layout,
                    {}};
  const std::string& pad_mode = attributes.at("pad_mode");
  for (const Axis& axis : AxesOf(input)) {
    const int64_t window = IntegerOf(attributes, fmt::format("win_{}", axis.letter));
    const int64_t stride = IntegerOf(attributes, fmt::format("pool_stride_{}", axis.letter));
    const int64_t pad = IntegerOf(attributes, fmt::format("pad_{}", axis.letter));
    output.extents.push_back(pad_mode == "same" ? RoundedUpQuotient(axis.extent, stride)
                             : pad_mode == "valid"
                                 ? RoundedUpQuotient(axis.extent - window + 1, stride)
                                 : (axis.extent + 2 * pad - window) / stride + 1);
  }
  return output;
}

// Sets the tensor `name` to its one spelling, and leaves it out if it is `usual`, its default.
// Values missing in the flag come from `usual`.
void CompleteTensor(const std::string& name, const TensorText& usual, Attributes& attributes) {
  const auto found = attributes.find(name);
  if (found == attributes.end()) return;
  TensorText tensor = *ReadTensor(found->second);
  if (found->second.find(',') == std::string::npos) {
    tensor.layout = usual.layout;
    tensor.strides = usual.strides;
  }
  found->second = CanonicalText(tensor);
  if (found->second == CanonicalText(usual)) attributes.erase(found);
}

// A plane has no depth: its flags for it are ignored.
void ForgetDepth(Attributes& attributes) {
  for (const AttributeFlag& flag : kTensorFlags) {
    const std::string name(flag.name);
    if (name == "win_d" || name == "pool_stride_d" || name == "pad_d") {
      attributes[name] = std::string(flag.fallback);
    }
  }
}

Parsed<Attributes> CheckTensors(const DriverLine& line, const Attributes& attributes) {
  for (const DriverFlag& flag : line.flags) {
    const bool is_tensor =
        flag.is_long() ? flag.long_name().ends_with("put")
                       : std::string_view("WDOH").find(flag.letter()) != std::string_view::npos;
    if (!is_tensor) continue;
    const auto tensor = ReadTensor(flag.value.text);
    if (!tensor) return BadFlagValue(flag, TensorForm());
  }
  return attributes;
}

Parsed<Attributes> ReadWithTensors(const DriverLine& line) {
  auto attributes = ReadAttributes(line, kTensorFlags);
  if (attributes) attributes = CheckTensors(line, *attributes);
  if (!attributes) return attributes;
  const TensorText input = *ReadTensor(attributes->at("input"));
  const bool is_plane = input.extents.size() == 4;
  if (is_plane) ForgetDepth(*attributes);
  attributes = WithWindowsChecked(line, *attributes, AxesOf(input));
  if (!attributes) return attributes;
  // The driver takes the image index in three dimensions and ignores the flag.
  if (!is_plane) (*attributes)["index_position"] = "1";
  TensorText output = OutputOf(input, *attributes);
  CompleteTensor("dinput", input, *attributes);
  CompleteTensor("output", output, *attributes);
  if (attributes->contains("output")) output = *ReadTensor(attributes->at("output"));
  CompleteTensor("doutput", output, *attributes);
  (*attributes)["input"] = CanonicalText(input);
  return attributes;
}

}  // namespace

Parsed<Attributes> ReadDriverPool(const DriverLine& line) {
  return DescribesTensors(line) ? ReadWithTensors(line) : ReadWithSizes(line);
}

}  // namespace attune
