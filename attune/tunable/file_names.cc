#include "attune/tunable/file_names.h"

#include <fmt/format.h>

namespace attune {

std::string WithInsertion(std::string_view name, std::string_view text) {
  const size_t token = name.find("%d");
  if (token != std::string_view::npos) {
    return fmt::format("{}{}{}", name.substr(0, token), text, name.substr(token + 2));
  }
  const size_t slash = name.rfind('/');
  const size_t begin = slash == std::string_view::npos ? 0 : slash + 1;
  const size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot <= begin) return fmt::format("{}{}", name, text);
  return fmt::format("{}{}{}", name.substr(0, dot), text, name.substr(dot));
}

std::string WithOrdinal(std::string_view name, int ordinal) {
  return WithInsertion(name, fmt::format("{}", ordinal));
}

}  // namespace attune
