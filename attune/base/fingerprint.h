// A 128-bit content hash: the unique key beside every text in the database, and the name of an
// entry in the kernel cache. Not cryptographic.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace attune {

struct Fingerprint {
  uint64_t high = 0;
  uint64_t low = 0;

  // 32 lower-case hexadecimal digits, `high` first.
  std::string ToHex() const;
  // The inverse of ToHex; nothing if `hex` is not exactly 32 hexadecimal digits.
  static std::optional<Fingerprint> FromHex(std::string_view hex);

  friend auto operator<=>(const Fingerprint&, const Fingerprint&) = default;
};

// XXH3 128 of `bytes`; the same on every machine and in every release.
Fingerprint FingerprintOf(std::string_view bytes);

}  // namespace attune
