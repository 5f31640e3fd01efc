// What a package says of itself: its identity and the hash of every file in it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"

namespace attune {

// 64 hexadecimal digits.
std::string Sha256Hex(std::string_view bytes);

struct PackagedFile {
  int64_t size_bytes = 0;
  std::string sha256;

  friend bool operator==(const PackagedFile&, const PackagedFile&) = default;
};

// The golden version that a package is of.
struct PackagedGolden {
  std::string version;
  bool is_approved = false;  // Or else it was a draft, which may have changed since.

  friend bool operator==(const PackagedGolden&, const PackagedGolden&) = default;
};

struct Manifest {
  static constexpr int kVersion = 1;

  std::string attune_version;  // Of the program that made it.
  std::string created;         // "2026-11-21T06:25:07Z"
  std::string target;          // Canonical text.
  // Nothing for a package of a tag or a session, and of programs that did not say it.
  std::optional<PackagedGolden> golden;
  std::vector<std::string> caches;            // In which they were measured, in order: "warm".
  std::map<std::string, PackagedFile> files;  // By path inside of the package.

  friend bool operator==(const Manifest&, const Manifest&) = default;
};

// docs/formats/package.md; ends with a newline.
std::string ManifestText(const Manifest& manifest);
// kFailedPrecondition for a later version, kDataLoss for what is no manifest: a path that leaves
// the package, a hash that is none.
Result<Manifest> ParseManifest(std::string_view text);

}  // namespace attune
