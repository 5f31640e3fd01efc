// Operators of MIOpenDriver that no solver here computes: their flags are kept as attributes, so
// that equal problems get one text where the flags are known.
#include "attune/formats/driver_other.h"

#include <fmt/format.h>

#include "attune/ops/driver_line.h"
#include "attune/problem/other_op.h"

namespace attune {
namespace {

// A key for an unknown flag of an operator. Letters are case-sensitive, keys are lower case.
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

Parsed<Attributes> AttributesOf(const DriverLine& line, std::string_view op) {
  if (op == "pool") return ReadDriverPool(line);
  return ReadUnknownFlags(line);
}

}  // namespace

Parsed<std::vector<Problem>> ReadDriverOther(const DriverLine& line, const DriverOperator& op) {
  auto attributes = AttributesOf(line, op.name);
  if (!attributes) return tl::unexpected(attributes.error());
  OtherOp other{LowerCase(op.name), *std::move(attributes)};
  if (op.type != "f32") other.attributes["type"] = std::string(op.type);
  if (const Status status = Validate(Problem(other)); !status.ok()) {
    return ErrorAtOffset(line.op.offset, status.message());
  }
  return std::vector<Problem>{std::move(other)};
}

}  // namespace attune
