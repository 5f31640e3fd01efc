#include "attune/base/text.h"

#include <fmt/format.h>

namespace attune {

std::string Excerpt(std::string_view text) {
  if (text.size() <= kExcerptBytes) return std::string(text);
  return fmt::format("{}... [{} bytes]", FirstBytes(text, kExcerptBytes), text.size());
}

}  // namespace attune
