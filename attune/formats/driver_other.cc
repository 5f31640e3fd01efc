// Operators of MIOpenDriver that no solver here computes: their flags are kept as attributes, with
// the driver's defaults filled in where its flags are known, so that equal problems get one text.
#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "attune/formats/driver_line.h"

namespace attune {
namespace {

enum class ValueKind {
  kInteger,
  kReal,
  kText,
  kIgnoredInteger,  // How to run, not what.
  kIgnoredText,
};

struct OtherFlag {
  char letter;
  std::string_view name;
  ValueKind kind;
  std::string_view fallback;
};

constexpr ValueKind kInt = ValueKind::kInteger;
constexpr ValueKind kReal = ValueKind::kReal;
constexpr ValueKind kText = ValueKind::kText;
constexpr ValueKind kRunInt = ValueKind::kIgnoredInteger;
constexpr ValueKind kRunText = ValueKind::kIgnoredText;

constexpr OtherFlag kBatchNormFlags[] = {
    {'F', "forw", kInt, "0"},
    {'b', "back", kInt, "0"},
    {'n', "batchsize", kInt, "32"},
    {'c', "in_channels", kInt, "3"},
    {'H', "in_h", kInt, "32"},
    {'W', "in_w", kInt, "32"},
    {'D', "in_d", kInt, "0"},
    {'L', "layout", kText, ""},
    {'A', "alpha", kReal, "1.0"},
    {'B', "beta", kReal, "0."},
    {'m', "mode", kInt, "0"},
    {'s', "save", kInt, "0"},
    {'r', "run", kInt, "0"},
    {'f', "activ_mode", kInt, "0"},
    {'x', "activ_alpha", kReal, "1.0"},
    {'y', "activ_beta", kReal, "1.0"},
    {'I', "inverse_variance", kInt, "0"},
    {'Q', "ping_pong_buffers", kRunInt, ""},
    {'i', "iter", kRunInt, ""},
    {'V', "verify", kRunInt, ""},
    {'t', "time", kRunInt, ""},
    {'P', "printconv", kRunInt, ""},
    {'w', "wall", kRunInt, ""},
    {'~', "gpubuffer_check", kRunInt, ""},
    {'&', "tuning_policy", kRunInt, ""},
    {'J', "use_hip_graph", kRunInt, ""},
};

// The form of the published lists; later drivers describe tensors instead, below.
constexpr OtherFlag kPoolFlags[] = {
    {'F', "forw", kInt, "0"},
    {'n', "batchsize", kInt, "100"},
    {'c', "in_channels", kInt, "3"},
    {'H', "in_h", kInt, "32"},
    {'W', "in_w", kInt, "32"},
    {'y', "win_h", kInt, "3"},
    {'x', "win_w", kInt, "3"},
    {'v', "pool_stride_h", kInt, "1"},
    {'u', "pool_stride_w", kInt, "1"},
    {'p', "pad_h", kInt, "0"},
    {'q', "pad_w", kInt, "0"},
    {'m', "mode", kText, "max"},
    {'z', "pad_mode", kText, "default"},
    {'I', "index_type", kText, "miopenIndexUint8"},
    {'M', "index_position", kInt, "0"},
    {'r', "pad_val", kRunInt, ""},
    {'i', "iter", kRunInt, ""},
    {'V', "verify", kRunInt, ""},
    {'t', "time", kRunInt, ""},
    {'w', "wall", kRunInt, ""},
    {'P', "print", kRunInt, ""},
};

constexpr OtherFlag kPoolTensorFlags[] = {
    {'W', "input", kText, "100x3x32x32,NCHW"},
    {'D', "dinput", kText, ""},
    {'O', "output", kText, ""},
    {'H', "doutput", kText, ""},
    {'F', "forw", kInt, "0"},
    {'Z', "win_d", kInt, "3"},
    {'y', "win_h", kInt, "3"},
    {'x', "win_w", kInt, "3"},
    {'s', "pool_stride_d", kInt, "1"},
    {'v', "pool_stride_h", kInt, "1"},
    {'u', "pool_stride_w", kInt, "1"},
    {'o', "pad_d", kInt, "0"},
    {'p', "pad_h", kInt, "0"},
    {'q', "pad_w", kInt, "0"},
    {'m', "mode", kText, "max"},
    {'z', "pad_mode", kText, "default"},
    {'I', "index_type", kText, "miopenIndexUint8"},
    {'M', "index_position", kInt, "0"},
    {'r', "pad_val", kRunInt, ""},
    {'i', "iter", kRunInt, ""},
    {'V', "verify", kRunInt, ""},
    {'t', "time", kRunInt, ""},
    {'w', "wall", kRunInt, ""},
    {'P', "print", kRunInt, ""},
    {'U', "mt", kRunInt, ""},
    {'j', "in_data", kRunText, ""},
    {'k', "out_data", kRunText, ""},
    {'l', "dump_root", kRunText, ""},
};

bool DescribesTensors(const DriverLine& line) {
  return std::any_of(line.flags.begin(), line.flags.end(), [](const DriverFlag& flag) {
    if (flag.is_long()) return flag.long_name().ends_with("put");
    return flag.letter() == 'W' && flag.value.text.find('x') != std::string_view::npos;
  });
}

std::span<const OtherFlag> FlagsOf(const DriverLine& line, std::string_view op) {
  if (op == "bnorm") return kBatchNormFlags;
  if (op == "pool") {
    if (DescribesTensors(line)) return kPoolTensorFlags;
    return kPoolFlags;
  }
  return {};
}

const OtherFlag* FindFlag(std::span<const OtherFlag> rules, const DriverFlag& flag) {
  const auto found = std::find_if(rules.begin(), rules.end(), [&flag](const OtherFlag& rule) {
    return flag.is_long() ? rule.name == flag.long_name() : rule.letter == flag.letter();
  });
  return found == rules.end() ? nullptr : &*found;
}

bool IsValueOf(ValueKind kind, std::string_view text) {
  double ignored = 0;
  switch (kind) {
    case ValueKind::kInteger:
    case ValueKind::kIgnoredInteger:
      return IsDriverInteger(text);
    case ValueKind::kReal:
      return ReadDriverReal(text, ignored);
    default:
      return true;
  }
}

bool IsIgnored(ValueKind kind) {
  return kind == ValueKind::kIgnoredInteger || kind == ValueKind::kIgnoredText;
}

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

// One spelling for each value: "007" is 7, "1.0" is 1, and layouts are case-insensitive.
std::string CanonicalValue(const OtherFlag& rule, std::string_view text) {
  if (rule.kind == ValueKind::kInteger) {
    int64_t value = 0;
    ReadDriverInteger(text, std::numeric_limits<int32_t>::min(),
                      std::numeric_limits<int32_t>::max(), value);
    return std::to_string(value);
  }
  if (rule.kind == ValueKind::kReal) {
    double value = 0;
    ReadDriverReal(text, value);
    return fmt::format("{}", value);
  }
  return rule.name == "layout" ? LowerCase(text) : std::string(text);
}

std::string_view ExpectedOf(ValueKind kind) {
  return kind == ValueKind::kReal ? "a number" : kAnyInteger;
}

using Attributes = std::map<std::string, std::string>;

Parsed<Attributes> ReadKnownFlags(const DriverLine& line, std::span<const OtherFlag> rules) {
  Attributes attributes;
  for (const OtherFlag& rule : rules) {
    if (IsIgnored(rule.kind) || rule.fallback.empty()) continue;
    attributes[std::string(rule.name)] = CanonicalValue(rule, rule.fallback);
  }
  for (const DriverFlag& flag : line.flags) {
    const OtherFlag* const rule = FindFlag(rules, flag);
    if (rule == nullptr) return UnknownFlag(line, flag);
    if (!IsValueOf(rule->kind, flag.value.text)) {
      return BadFlagValue(flag, ExpectedOf(rule->kind));
    }
    if (IsIgnored(rule->kind)) continue;
    attributes[std::string(rule->name)] = CanonicalValue(*rule, flag.value.text);
  }
  return attributes;
}

// A key for a flag of an operator whose flags are not known here. Letters are case-sensitive, keys
// are lower case.
std::string KeyOfUnknownFlag(const DriverFlag& flag) {
  if (!flag.is_long()) {
    const char c = flag.letter();
    if (c >= 'a' && c <= 'z') return fmt::format("letter_{}", c);
    if (c >= 'A' && c <= 'Z') return fmt::format("capital_{}", static_cast<char>(c - 'A' + 'a'));
    return fmt::format("sign_{:02x}", static_cast<unsigned char>(c));
  }
  std::string key = "flag_";
  for (const char c : flag.long_name()) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
    if (plain) {
      key += c;
    } else {
      key += fmt::format("_{:02x}", static_cast<unsigned char>(c));
    }
  }
  return key;
}

Attributes ReadUnknownFlags(const DriverLine& line) {
  Attributes attributes;
  for (const DriverFlag& flag : line.flags) {
    attributes[KeyOfUnknownFlag(flag)] = std::string(flag.value.text);
  }
  return attributes;
}

}  // namespace

Parsed<std::vector<Problem>> ReadDriverOther(const DriverLine& line, const DriverOperator& op) {
  const std::span<const OtherFlag> rules = FlagsOf(line, op.name);
  OtherOp other;
  other.op = LowerCase(op.name);
  if (rules.empty()) {
    other.attributes = ReadUnknownFlags(line);
  } else {
    auto attributes = ReadKnownFlags(line, rules);
    if (!attributes) return tl::unexpected(attributes.error());
    other.attributes = std::move(*attributes);
  }
  if (op.type != "f32") other.attributes["type"] = std::string(op.type);
  if (const Status status = Validate(Problem(other)); !status.ok()) {
    return ErrorAtOffset(line.op.offset, status.message());
  }
  return std::vector<Problem>{std::move(other)};
}

}  // namespace attune
