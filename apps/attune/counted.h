// Counts with a noun, in the singular where there is one.
#pragma once

#include <concepts>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace attune {

// "1 job", "2 jobs"; with `plural` for words that do not take an s: "2 entries".
template <std::integral Count>
std::string Counted(Count count, std::string_view singular, std::string_view plural = "") {
  if (count == 1) return fmt::format("1 {}", singular);
  return plural.empty() ? fmt::format("{} {}s", count, singular)
                        : fmt::format("{} {}", count, plural);
}

// The verb behind a count.
template <std::integral Count>
std::string_view IsOrAre(Count count) {
  return count == 1 ? "is" : "are";
}

}  // namespace attune
