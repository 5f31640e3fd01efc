#include "attune/library/word_template.h"

#include <utility>

#include <fmt/format.h>

#include "attune/base/text.h"
#include "attune/space/config.h"

namespace attune {

Result<WordTemplate> WordTemplate::Parse(std::string_view text) {
  WordTemplate word;
  std::string literal;
  for (size_t i = 0; i < text.size(); ++i) {
    const char byte = text[i];
    const bool is_brace = byte == '{' || byte == '}';
    if (!is_brace) {
      literal += byte;
      continue;
    }
    if (i + 1 < text.size() && text[i + 1] == byte) {
      literal += byte;
      ++i;
      continue;
    }
    const size_t end = byte == '{' ? text.find('}', i) : std::string_view::npos;
    const std::string_view name =
        end == std::string_view::npos ? std::string_view() : text.substr(i + 1, end - i - 1);
    if (!IsParameterName(name)) {
      return InvalidArgument(
          fmt::format("'{}' has a brace at column {} that begins or ends no name; braces "
                      "themselves are written twice.",
                      Excerpt(text), i + 1));
    }
    word.literals_.push_back(std::exchange(literal, {}));
    word.names_.emplace_back(name);
    i = end;
  }
  word.literals_.push_back(std::move(literal));
  return word;
}

std::string WordTemplate::Fill(
    const std::function<std::string(std::string_view name)>& value_of) const {
  std::string word = literals_.front();
  for (size_t i = 0; i < names_.size(); ++i) word += value_of(names_[i]) + literals_[i + 1];
  return word;
}

}  // namespace attune
