#include "attune/kernel/json_place.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace attune::kernel {
namespace {

using Json = nlohmann::json;

constexpr size_t kMaxIdentifierBytes = 64;
constexpr size_t kMaxExpressionBytes = 1000;

std::string Escaped(std::string_view key) {
  std::string escaped;
  for (char c : key) {
    if (c == '~') {
      escaped += "~0";
    } else if (c == '/') {
      escaped += "~1";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

// The document built event by event, because Json::parse keeps the last of two equal keys and says
// nothing.
class StrictReader final : public nlohmann::json_sax<Json> {
 public:
  StrictReader(std::string_view text, int max_depth)
      : text_(text), max_depth_(max_depth), builder_(root_, false) {}

  Result<Json> Read() {
    // The reader looks at the position only from within key() and start_*, where the parser's own
    // position is not to be had, so those errors count lines up to the key's text instead.
    Json::sax_parse(text_, this);
    if (!error_.empty()) return InvalidArgument(error_);
    return std::move(root_);
  }

  bool null() override { return BeginValue() && builder_.null(); }
  bool boolean(bool value) override { return BeginValue() && builder_.boolean(value); }
  bool number_integer(number_integer_t value) override {
    return BeginValue() && builder_.number_integer(value);
  }
  bool number_unsigned(number_unsigned_t value) override {
    return BeginValue() && builder_.number_unsigned(value);
  }
  bool number_float(number_float_t value, const string_t& text) override {
    return BeginValue() && builder_.number_float(value, text);
  }
  bool string(string_t& value) override { return BeginValue() && builder_.string(value); }
  bool binary(binary_t& value) override { return BeginValue() && builder_.binary(value); }
  bool start_object(size_t size) override {
    return BeginValue() && BeginLevel(false) && builder_.start_object(size);
  }
  bool key(string_t& name) override {
    levels_.back().key = name;
    if (!levels_.back().keys.insert(name).second) {
      error_ = fmt::format("{}: the key '{}' stands twice in one object.", Pointer(), name);
      return false;
    }
    return builder_.key(name);
  }
  bool end_object() override {
    levels_.pop_back();
    return builder_.end_object();
  }
  bool start_array(size_t size) override {
    return BeginValue() && BeginLevel(true) && builder_.start_array(size);
  }
  bool end_array() override {
    levels_.pop_back();
    return builder_.end_array();
  }
  bool parse_error(size_t position, const std::string& token, const Json::exception&) override {
    const std::string_view before = text_.substr(0, std::min(position, text_.size()));
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const size_t line_begin =
        before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
    const size_t column = std::max<size_t>(1, before.size() - line_begin);
    error_ = fmt::format("line {}, column {}: this is not JSON at '{}'.", line, column,
                         Json(token).dump(-1, ' ', true, Json::error_handler_t::replace));
    return false;
  }

 private:
  // An object or an array around the value that is read now.
  struct Level {
    bool is_array = false;
    size_t elements = 0;         // Begun so far, of an array.
    std::string key;             // The last one, of an object.
    std::set<std::string> keys;  // All so far.
  };

  // Always true, so that what is to be done for every value can stand before it.
  bool BeginValue() {
    if (!levels_.empty()) ++levels_.back().elements;
    return true;
  }

  bool BeginLevel(bool is_array) {
    if (levels_.size() == static_cast<size_t>(max_depth_)) {
      error_ = fmt::format("{}: more than {} levels of nesting.", Pointer(), max_depth_);
      return false;
    }
    levels_.push_back({is_array, 0, {}, {}});
    return true;
  }

  // Of the value that is read now.
  std::string Pointer() const {
    std::string pointer;
    for (const Level& level : levels_) {
      pointer += '/' + (level.is_array ? std::to_string(level.elements - 1) : Escaped(level.key));
    }
    return pointer;
  }

  std::string_view text_;
  int max_depth_;
  Json root_;
  nlohmann::detail::json_sax_dom_parser<Json> builder_;
  std::vector<Level> levels_;
  std::string error_;
};

}  // namespace

bool IsIdentifier(std::string_view text) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !text.empty() && text.size() <= kMaxIdentifierBytes && letter(text.front()) &&
         std::all_of(text.begin(), text.end(),
                     [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

Result<nlohmann::json> ParseStrictJson(std::string_view text, int max_depth) {
  return StrictReader(text, max_depth).Read();
}

Status JsonPlace::Error(std::string_view reason) const {
  return InvalidArgument(fmt::format("{}: {}", Where(), reason));
}

JsonPlace JsonPlace::Member(std::string_view key) const {
  return JsonPlace((*value_)[std::string(key)], pointer_ + "/" + Escaped(key), dialect_);
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
