// Reads a key from left to right. Private to this module.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "attune/problem/text_error.h"

namespace attune::miopen {

// Tokens between separators. After the first error nothing is read any more, so that a reader can
// ask for all fields and look once.
class KeyReader {
 public:
  explicit KeyReader(std::string_view text) : rest_(text), size_(text.size()) {}

  // Returns the text before the next `separator` and passes it; all of the rest if there is none.
  // If no text is left, the error names `field` and `axis`, if given.
  std::string_view Token(char separator, std::string_view field, std::string_view axis = {}) {
    if (failed_) return {};
    if (at_end_) {
      FailAtEnd(fmt::format("Field {} is missing.", NameOf(field, axis)));
      return {};
    }
    begin_ = size_ - rest_.size();
    const size_t end = rest_.find(separator);
    at_end_ = end == rest_.npos;
    const std::string_view token = rest_.substr(0, end);
    rest_.remove_prefix(at_end_ ? rest_.size() : end + 1);
    return token;
  }

  // A decimal number without a sign, of at most 63 bits.
  int64_t Number(char separator, std::string_view field, std::string_view axis = {}) {
    const std::string_view token = Token(separator, field, axis);
    int64_t value = 0;
    const char* const end = token.data() + token.size();
    const auto [stop, error] = std::from_chars(token.data(), end, value);
    if (failed_ || (error == std::errc() && stop == end && token.front() != '-')) return value;
    Fail(fmt::format("Field {} is {}, not a decimal number below 2^63.", NameOf(field, axis),
                     Quoted(token)));
    return 0;
  }

  // Fails at the token that was read last.
  void Fail(std::string reason) {
    if (failed_) return;
    failed_ = true;
    error_ = ErrorAtOffset(begin_, std::move(reason)).value();
  }
  void FailAtEnd(std::string reason) {
    begin_ = size_ - rest_.size();
    Fail(std::move(reason));
  }

  bool failed() const { return failed_; }
  bool at_end() const { return at_end_; }
  const TextError& error() const { return error_; }

 private:
  static std::string NameOf(std::string_view field, std::string_view axis) {
    return axis.empty() ? fmt::format("'{}'", field) : fmt::format("'{} {}'", field, axis);
  }

  std::string_view rest_;
  size_t size_;
  size_t begin_ = 0;  // Begin of the last token.
  bool at_end_ = false;
  bool failed_ = false;
  TextError error_;
};

}  // namespace attune::miopen
