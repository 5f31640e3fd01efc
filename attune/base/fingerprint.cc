#include "attune/base/fingerprint.h"

#include <charconv>

#include <xxhash.h>

namespace attune {

// By hand: every row that is written has one or two of these, and fmt::format took 6% of an import.
std::string Fingerprint::ToHex() const {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex(32, '0');
  for (size_t i = 0; i < 16; ++i) {
    const size_t shift = 60 - 4 * i;
    hex[i] = kDigits[high >> shift & 15];
    hex[16 + i] = kDigits[low >> shift & 15];
  }
  return hex;
}

std::optional<Fingerprint> Fingerprint::FromHex(std::string_view hex) {
  if (hex.size() != 32) return std::nullopt;
  Fingerprint result;
  const char* middle = hex.data() + 16;
  const char* end = hex.data() + 32;
  const auto high = std::from_chars(hex.data(), middle, result.high, 16);
  const auto low = std::from_chars(middle, end, result.low, 16);
  if (high.ec != std::errc() || high.ptr != middle) return std::nullopt;
  if (low.ec != std::errc() || low.ptr != end) return std::nullopt;
  return result;
}

Fingerprint FingerprintOf(std::string_view bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.high64, hash.low64};
}

}  // namespace attune
