#include "attune/kernel/json_line.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include <nlohmann/json.hpp>

namespace attune::kernel {
namespace {

// Walks over a text that is known to be JSON. nlohmann's values do not know where they were read.
class JsonWalker {
 public:
  explicit JsonWalker(std::string_view text) : text_(text) {
    // nlohmann passes over a byte order mark, too.
    constexpr std::string_view kMark = "\xEF\xBB\xBF";
    if (text_.starts_with(kMark)) at_ = kMark.size();
  }

  // Where the value that the rest of `pointer` names begins, from here.
  size_t Find(std::string_view pointer) {
    SkipBlanks();
    if (pointer.empty() || pointer.front() != '/') return at_;
    const size_t begin = at_;
    const size_t end = std::min(pointer.find('/', 1), pointer.size());
    if (!EnterMember(Unescaped(pointer.substr(1, end - 1)))) return begin;
    return Find(pointer.substr(end));
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
  void SkipBlanks() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(Now()) != std::string_view::npos)
      ++at_;
  }
  // The text at this place, in its quotes.
  std::string_view TakeQuoted() {
    const size_t begin = at_++;
    while (at_ < text_.size() && Now() != '"') at_ += Now() == '\\' ? 2 : 1;
    at_ = std::min(at_ + 1, text_.size());
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

int LineOf(std::string_view text, std::string_view pointer) {
  const size_t at = JsonWalker(text).Find(pointer);
  return 1 + static_cast<int>(
                 std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(at), '\n'));
}

}  // namespace attune::kernel
