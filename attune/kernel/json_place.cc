#include "attune/kernel/json_place.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "attune/base/json_reader.h"

namespace attune::kernel {
namespace {

constexpr size_t kMaxIdentifierBytes = 64;
constexpr size_t kMaxExpressionBytes = 1000;

}  // namespace

bool IsIdentifier(std::string_view text) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !text.empty() && text.size() <= kMaxIdentifierBytes && letter(text.front()) &&
         std::all_of(text.begin(), text.end(),
                     [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

Status JsonPlace::Error(std::string_view reason) const {
  return InvalidArgument(fmt::format("{}: {}", Where(), reason));
}

JsonPlace JsonPlace::Member(std::string_view key) const {
  return JsonPlace((*value_)[std::string(key)], pointer_ + "/" + PointerToken(key), dialect_);
}

JsonPlace JsonPlace::Element(size_t index) const {
  return JsonPlace((*value_)[index], fmt::format("{}/{}", pointer_, index), dialect_);
}

Status JsonPlace::CheckObject(std::initializer_list<std::string_view> required,
                              std::initializer_list<std::string_view> optional) const {
  if (!value_->is_object()) {
    return Error(fmt::format("must be an object and is of type {}.", value_->type_name()));
  }
  for (std::string_view key : required) {
    if (!Has(key)) return Error(fmt::format("the key '{}' is missing.", key));
  }
  for (const auto& item : value_->items()) {
    const std::string& key = item.key();
    const auto is_key = [&](std::string_view known) { return known == key; };
    if (std::any_of(required.begin(), required.end(), is_key)) continue;
    if (std::any_of(optional.begin(), optional.end(), is_key)) continue;
    return Member(key).Error(fmt::format(
        "unknown key. Known here: {}{}{}.", fmt::join(required, ", "),
        required.size() == 0 || optional.size() == 0 ? "" : ", ", fmt::join(optional, ", ")));
  }
  return Status::Ok();
}

Status JsonPlace::CheckArray(size_t least, size_t most) const {
  if (!value_->is_array()) {
    return Error(fmt::format("must be an array and is of type {}.", value_->type_name()));
  }
  if (Size() >= least && Size() <= most) return Status::Ok();
  return Error(fmt::format("has {} elements; {} to {} are allowed.", Size(), least, most));
}

Result<std::string> JsonPlace::Text(size_t most) const {
  if (!value_->is_string()) {
    return Error(fmt::format("must be a text and is of type {}.", value_->type_name()));
  }
  const std::string& text = value_->get_ref<const std::string&>();
  if (text.empty() || text.size() > most) {
    return Error(fmt::format("has {} bytes; 1 to {} are allowed.", text.size(), most));
  }
  const auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; };
  if (std::any_of(text.begin(), text.end(), control)) return Error("holds a control character.");
  return text;
}

Result<std::string> JsonPlace::Identifier() const {
  ATTUNE_ASSIGN_OR_RETURN(std::string text, Text(kMaxIdentifierBytes));
  if (!IsIdentifier(text)) {
    return Error(fmt::format("'{}' is not a name ([A-Za-z_][A-Za-z0-9_]*).", text));
  }
  return text;
}

Result<int64_t> JsonPlace::Integer(int64_t least, int64_t most) const {
  const bool too_large =
      value_->is_number_unsigned() && value_->get<uint64_t>() > static_cast<uint64_t>(INT64_MAX);
  if (!value_->is_number_integer() || too_large) {
    return Error(fmt::format("must be an integer from {} to {} and is {}.", least, most,
                             too_large ? "larger" : value_->type_name()));
  }
  const int64_t value = value_->get<int64_t>();
  if (value < least || value > most) {
    return Error(fmt::format("is {}; {} to {} are allowed.", value, least, most));
  }
  return value;
}

Result<Expression> JsonPlace::ParsedExpression() const {
  std::string text;
  if (value_->is_number_integer()) {
    text = value_->dump();
  } else {
    ATTUNE_ASSIGN_OR_RETURN(text, Text(kMaxExpressionBytes));
  }
  Result<Expression> expression = Expression::Parse(text, dialect_);
  if (!expression.ok())
    return Error(fmt::format("in '{}': {}", text, expression.error().message()));
  return expression;
}

}  // namespace attune::kernel
