#include "attune/problem/text_error.h"

#include <string_view>

#include <fmt/format.h>

namespace attune {

Status ToStatus(const TextError& error) {
  return Status(error.code, fmt::format("Column {}: {}", error.column, error.reason));
}

std::string Quoted(std::string_view text) {
  constexpr size_t kMaxBytes = 80;
  std::string quoted = "'";
  for (const char c : text.substr(0, kMaxBytes)) {
    if (c >= ' ' && c <= '~') {
      quoted += c;
    } else {
      quoted += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  quoted += text.size() > kMaxBytes ? "...'" : "'";
  return quoted;
}

}  // namespace attune
