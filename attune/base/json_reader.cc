#include "attune/base/json_reader.h"

#include <algorithm>
#include <limits>
#include <set>
#include <type_traits>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "attune/base/text.h"

namespace attune {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";  // nlohmann skips it, too.

constexpr std::pair<std::string_view, double> kNonFinite[] = {
    {"NaN", std::numeric_limits<double>::quiet_NaN()},
    {"Infinity", std::numeric_limits<double>::infinity()},
    {"-Infinity", -std::numeric_limits<double>::infinity()}};

// Behind the quoted text that begins at `begin`; beyond the end of `json` if it is not closed.
size_t EndOfQuoted(std::string_view json, size_t begin) {
  size_t at = begin + 1;
  while (at < json.size() && json[at] != '"') at += json[at] == '\\' ? 2 : 1;
  return at + 1;
}

// JSON with a quoted text of the same length in place of each non-finite number, so that the parser
// takes it and all offsets stay.
struct QuotedNumbers {
  struct Number {
    size_t index = 0;  // Among all quoted texts of `json`.
    double value = 0;
  };

  std::string json;
  std::vector<Number> numbers;
  // The text ends in the middle of a token of such a number, which `json` lacks.
  bool is_cut = false;
};

bool EndsToken(std::string_view text, size_t at) {
  return at >= text.size() || kBlanks.find(text[at]) != std::string_view::npos ||
         std::string_view(",:[]{}").find(text[at]) != std::string_view::npos;
}

QuotedNumbers QuoteNumbers(std::string_view text) {
  QuotedNumbers quoted{std::string(text), {}, false};
  size_t quoted_texts = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '"') {
      at = EndOfQuoted(text, at) - 1;
      ++quoted_texts;
    }
    if (at >= text.size() || (at > 0 && !EndsToken(text, at - 1))) continue;
    const std::string_view rest = text.substr(at);
    for (const auto& [token, value] : kNonFinite) {
      if (rest.size() < token.size() && token.starts_with(rest)) {
        quoted.json.resize(at);
        quoted.is_cut = true;
      }
      if (!rest.starts_with(token) || !EndsToken(text, at + token.size())) continue;
      quoted.json.replace(at, token.size(), token.size(), ' ');
      quoted.json[at] = quoted.json[at + token.size() - 1] = '"';
      quoted.numbers.push_back({quoted_texts++, value});
      at += token.size() - 1;
      break;
    }
  }
  return quoted;
}

// Where the quoted text number `index` begins.
size_t OffsetOfQuoted(std::string_view json, size_t index) {
  size_t at = std::min(json.find('"'), json.size());
  for (; index > 0 && at < json.size(); --index) {
    at = std::min(json.find('"', EndOfQuoted(json, at)), json.size());
  }
  return at;
}

// Where the token begins of which the last byte stands before `end`.
size_t BeginOfToken(std::string_view json, size_t end) {
  for (size_t at = json.find('"'); at < end; at = json.find('"', at)) {
    const size_t begin = at;
    at = EndOfQuoted(json, begin);
    if (at == end) return begin;
    if (at > end) return end - 1;  // Inside a quoted text: the faulty byte alone.
  }
  size_t begin = end - std::min<size_t>(end, 1);
  while (begin > 0 && !EndsToken(json, begin) && !EndsToken(json, begin - 1)) --begin;
  return begin;
}

size_t EndOfDigits(std::string_view json, size_t at) {
  return std::min(json.find_first_not_of("0123456789", at), json.size());
}

// Behind the number that begins at `at`, as far as it is one.
size_t EndOfNumber(std::string_view json, size_t at) {
  const auto has = [&](std::string_view any) {
    return at < json.size() && any.find(json[at]) != std::string_view::npos;
  };
  if (has("-")) ++at;
  at = has("0") ? at + 1 : EndOfDigits(json, at);
  if (has(".")) at = EndOfDigits(json, at + 1);
  if (!has("eE")) return at;
  ++at;
  if (has("+-")) ++at;
  return EndOfDigits(json, at);
}

size_t EndOfToken(std::string_view json, size_t begin) {
  if (json[begin] == '"') return EndOfQuoted(json, begin);
  if (EndsToken(json, begin)) return begin + 1;
  if (std::string_view("-0123456789").find(json[begin]) != std::string_view::npos) {
    return EndOfNumber(json, begin);
  }
  for (const std::string_view word : {"true", "false", "null"}) {
    if (json.substr(begin).starts_with(word)) return begin + word.size();
  }
  return json.size();
}

// Where the last token begins. REQUIRES: all tokens before are JSON.
size_t BeginOfLastToken(std::string_view json) {
  size_t begin = json.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
  for (size_t end = begin; end < json.size(); end = EndOfToken(json, begin)) begin = end;
  return begin;
}

// Where `json` first nests deeper than `max_depth`.
size_t OffsetOfDepth(std::string_view json, int max_depth) {
  int depth = 0;
  for (size_t at = 0; at < json.size(); ++at) {
    if (json[at] == '"') at = EndOfQuoted(json, at) - 1;
    if (at >= json.size()) break;
    if (json[at] == ']' || json[at] == '}') --depth;
    if ((json[at] == '[' || json[at] == '{') && ++depth > max_depth) return at;
  }
  return json.size();
}

// Builds the document event by event: the usual parser keeps the last of two equal keys, and of a
// text that ends too early nothing.
template <class Json>
class Reader final : public nlohmann::json_sax<Json> {
 public:
  // `text` is the original of `quoted`.
  Reader(std::string_view text, const QuotedNumbers& quoted, int max_depth)
      : text_(text), quoted_(quoted), max_depth_(max_depth) {}

  // False: the text ends too early, or is wrong (error()).
  bool Read() {
    // The parser takes this byte for the end of the text.
    if (const size_t zero = text_.find('\0'); zero != text_.npos) {
      NoteWrongToken(zero, zero + 1);
      return false;
    }
    const bool is_whole = Json::sax_parse(quoted_.json, this);
    if (is_whole && quoted_.is_cut) NoteWrongToken(quoted_.json.size(), text_.size());
    return is_whole && !quoted_.is_cut;
  }

  const std::string& error() const { return error_; }
  Json& root() { return root_; }
  const JsonEnd& end() const { return end_; }

  bool null() override { return Put(nullptr); }
  bool boolean(bool value) override { return Put(value); }
  bool number_integer(int64_t value) override { return Put(value); }
  bool number_unsigned(uint64_t value) override { return Put(value); }
  bool number_float(double value, const std::string& /*text*/) override { return Put(value); }
  bool binary(typename Json::binary_t& /*value*/) override { return false; }
  bool string(std::string& value) override {
    const QuotedNumbers::Number* const number = TakeQuoted();
    return number != nullptr ? Put(number->value) : Put(std::move(value));
  }
  bool key(std::string& name) override {
    const size_t index = quoted_texts_;
    const bool is_text = TakeQuoted() == nullptr;
    levels_.back().key = name;
    levels_.back().awaits_value = true;
    if (!is_text) return FailAt(OffsetOfQuoted(quoted_.json, index), "a number is no key.");
    if (levels_.back().keys.insert(name).second) return true;
    return FailAt(OffsetOfQuoted(quoted_.json, index),
                  fmt::format("the key '{}' stands twice in one object.", name));
  }
  bool start_object(size_t /*size*/) override { return Begin(Json::object()); }
  bool start_array(size_t /*size*/) override { return Begin(Json::array()); }
  bool end_object() override { return End(); }
  bool end_array() override { return End(); }

  bool parse_error(size_t position, const std::string& /*all since the last value*/,
                   const nlohmann::json::exception&) override {
    // The parser counts the end of the text as a character that it has read.
    if (position <= quoted_.json.size()) {
      NoteWrongToken(BeginOfToken(quoted_.json, position), position);
      return false;
    }
    const std::string_view json = quoted_.json;
    const size_t last = quoted_.is_cut ? json.size() : BeginOfLastToken(json);
    if (TakesTokenAt(last)) {
      NoteEnd();
    } else {
      NoteWrongToken(last, text_.size());
    }
    return false;
  }

 private:
  // An object or an array around the value that is read now.
  struct Level {
    Json* container = nullptr;
    std::string key;             // The last one, of an object.
    std::set<std::string> keys;  // All so far.
    bool awaits_value = false;   // That of `key`.
  };

  // The number that stands behind this quoted text; null if it is a text.
  const QuotedNumbers::Number* TakeQuoted() {
    const size_t index = quoted_texts_++;
    if (numbers_taken_ == quoted_.numbers.size()) return nullptr;
    const QuotedNumbers::Number& next = quoted_.numbers[numbers_taken_];
    if (next.index != index) return nullptr;
    ++numbers_taken_;
    return &next;
  }

  Json* Place(Json value) {
    if (levels_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    Level& level = levels_.back();
    if (level.container->is_array()) {
      level.container->push_back(std::move(value));
      return &level.container->back();
    }
    level.awaits_value = false;
    auto& members = level.container->template get_ref<typename Json::object_t&>();
    if constexpr (std::is_same_v<Json, nlohmann::ordered_json>) {
      // Not emplace(), which compares with all keys so far.
      members.push_back({level.key, std::move(value)});
      return &members.back().second;
    } else {
      return &(members[level.key] = std::move(value));
    }
  }

  template <class Value>
  bool Put(Value&& value) {
    Place(Json(std::forward<Value>(value)));
    return true;
  }

  bool Begin(Json empty) {
    Json* const container = Place(std::move(empty));
    if (levels_.size() < static_cast<size_t>(max_depth_)) {
      levels_.push_back({container, {}, {}, false});
      return true;
    }
    return FailAt(OffsetOfDepth(quoted_.json, max_depth_),
                  fmt::format("more than {} levels of nesting.", max_depth_));
  }

  bool End() {
    levels_.pop_back();
    return true;
  }

  // Keys and indices of the values that have begun.
  std::vector<std::string> Path(bool with_innermost) const {
    std::vector<std::string> path;
    for (const Level& level : levels_) {
      if (&level == &levels_.back() && !with_innermost) break;
      const bool is_array = level.container->is_array();
      path.push_back(is_array ? std::to_string(level.container->size() - 1) : level.key);
    }
    return path;
  }

  // True if the last token, which begins at `begin`, may follow the token before it. The parser
  // does not check the place of a token that ends too early.
  bool TakesTokenAt(size_t begin) const {
    if (EndsToken(text_, begin)) return true;
    const size_t before = begin == 0 ? text_.npos : text_.find_last_not_of(kBlanks, begin - 1);
    if (before == text_.npos || text_[before] == ':') return true;
    if (text_[before] != ',' && text_[before] != '[' && text_[before] != '{') return false;
    return levels_.back().container->is_array() || text_[begin] == '"';
  }

  void NoteWrongToken(size_t begin, size_t end) {
    const std::string token = Excerpt(text_.substr(begin, end - begin));
    error_ = fmt::format("{}: this is not JSON at '{}'.", Text(PlaceAt(text_, begin)),
                         Json(token).dump(-1, ' ', true, Json::error_handler_t::replace));
  }

  void NoteEnd() {
    end_.path = Path(!levels_.empty() && levels_.back().awaits_value);
    const std::string_view json = quoted_.json;
    for (size_t at = json.find('"'); at < json.size(); at = json.find('"', at)) {
      const size_t begin = at;
      at = EndOfQuoted(json, begin);
      if (at > json.size()) end_.quoted = json.substr(begin);
    }
  }

  bool FailAt(size_t offset, std::string_view reason) {
    std::string pointer;
    for (const std::string& key : Path(true)) pointer += "/" + PointerToken(key);
    error_ = fmt::format("{}: {}: {}", Text(PlaceAt(text_, offset)), pointer, reason);
    return false;
  }

  const std::string_view text_;
  const QuotedNumbers& quoted_;
  const int max_depth_;
  Json root_;
  std::vector<Level> levels_;
  size_t quoted_texts_ = 0;
  size_t numbers_taken_ = 0;
  JsonEnd end_;
  std::string error_;
};

QuotedNumbers Prepare(std::string_view text, const JsonTerms& terms) {
  return terms.takes_non_finite ? QuoteNumbers(text) : QuotedNumbers{std::string(text), {}, false};
}

Status EndsTooEarly(std::string_view text) {
  return InvalidArgument(fmt::format("{}: this is not JSON: the text ends too early.",
                                     Text(PlaceAt(text, text.size()))));
}

// Walks over a text that is known to be JSON.
class JsonWalker {
 public:
  explicit JsonWalker(std::string_view text) : text_(text) {
    if (text_.starts_with(kByteOrderMark)) at_ = kByteOrderMark.size();
  }

  // Where the value that the rest of `pointer` names begins, from here.
  size_t Find(std::string_view pointer) {
    while (true) {
      SkipBlanks();
      const size_t begin = at_;
      if (pointer.empty() || pointer.front() != '/') return begin;
      const size_t end = std::min(pointer.find('/', 1), pointer.size());
      if (!EnterMember(Unescaped(pointer.substr(1, end - 1)))) return begin;
      pointer.remove_prefix(end);
    }
  }

 private:
  static std::string Unescaped(std::string_view token) {
    std::string key;
    for (size_t i = 0; i < token.size(); ++i) {
      const bool is_escape = token[i] == '~' && i + 1 < token.size();
      key += is_escape ? (token[++i] == '1' ? '/' : '~') : token[i];
    }
    return key;
  }

  char Now() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void SkipBlanks() { at_ = std::min(text_.find_first_not_of(kBlanks, at_), text_.size()); }
  // The text at this place, in its quotes.
  std::string_view TakeQuoted() {
    const size_t begin = at_;
    at_ = std::min(EndOfQuoted(text_, begin), text_.size());
    return text_.substr(begin, at_ - begin);
  }
  void SkipValue() {
    int depth = 0;
    do {
      SkipBlanks();
      const char c = Now();
      if (c == '"') {
        TakeQuoted();
      } else if (c == '{' || c == '[') {
        ++depth;
        ++at_;
      } else if (c == '}' || c == ']') {
        --depth;
        ++at_;
      } else if (c == ',' || c == ':') {
        ++at_;
      } else {
        at_ = std::min(text_.find_first_of(",:]} \t\r\n", at_), text_.size());
      }
    } while (depth > 0 && at_ < text_.size());
  }

  // Goes to the member or element `key` of the value here, if there is one.
  bool EnterMember(const std::string& key) {
    const bool is_object = Now() == '{';
    if (!is_object && Now() != '[') return false;
    ++at_;
    for (size_t index = 0;; ++index) {
      SkipBlanks();
      if (at_ >= text_.size() || Now() == '}' || Now() == ']') return false;
      bool is_it = !is_object && std::to_string(index) == key;
      if (is_object) {
        const auto name = nlohmann::json::parse(TakeQuoted(), nullptr, false);
        is_it = name.is_string() && name.get<std::string>() == key;
        SkipBlanks();
        ++at_;
      }
      if (is_it) return true;
      SkipValue();
      SkipBlanks();
      if (Now() == ',') ++at_;
    }
  }

  const std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

TextPlace PlaceOf(std::string_view json, std::string_view pointer) {
  return PlaceAt(json, JsonWalker(json).Find(pointer));
}

std::string PointerToken(std::string_view key) {
  std::string token;
  for (const char c : key) {
    if (c == '~') {
      token += "~0";
    } else if (c == '/') {
      token += "~1";
    } else {
      token += c;
    }
  }
  return token;
}

Status AtPlaceOfPointer(const Status& status, std::string_view json) {
  const std::string_view message = status.message();
  const size_t end = message.find(": ");
  if (!message.starts_with('/') || end == std::string_view::npos) return status;
  return status.WithContext(Text(PlaceOf(json, message.substr(0, end))));
}

Result<nlohmann::json> ReadJson(std::string_view text, const JsonTerms& terms) {
  const QuotedNumbers quoted = Prepare(text, terms);
  Reader<nlohmann::json> reader(text, quoted, terms.max_depth);
  if (reader.Read()) return std::move(reader.root());
  return reader.error().empty() ? EndsTooEarly(text) : InvalidArgument(reader.error());
}

Result<nlohmann::ordered_json> ReadOrderedJson(std::string_view text, const JsonTerms& terms) {
  ATTUNE_ASSIGN_OR_RETURN(OpenJson read, ReadOpenJson(text, terms));
  if (read.end.has_value()) return EndsTooEarly(text);
  return std::move(read.document);
}

Result<OpenJson> ReadOpenJson(std::string_view text, const JsonTerms& terms) {
  const QuotedNumbers quoted = Prepare(text, terms);
  Reader<nlohmann::ordered_json> reader(text, quoted, terms.max_depth);
  if (reader.Read()) return OpenJson{std::move(reader.root()), std::nullopt};
  if (!reader.error().empty()) return InvalidArgument(reader.error());
  return OpenJson{std::move(reader.root()), reader.end()};
}

}  // namespace attune
