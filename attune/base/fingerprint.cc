#include "attune/base/fingerprint.h"

#include <charconv>

#include <fmt/format.h>
#include <xxhash.h>

namespace attune {

std::string Fingerprint::ToHex() const { return fmt::format("{:016x}{:016x}", high, low); }

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
