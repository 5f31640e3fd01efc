// The manifest of a package: its identity and the hash of every file in it.
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

// The golden version of a package.
struct PackagedGolden {
  std::string version;
  bool is_approved = false;  // Otherwise it was a draft, which may have changed since.

  friend bool operator==(const PackagedGolden&, const PackagedGolden&) = default;
};

struct Manifest {
  static constexpr int kVersion = 1;

  std::string attune_version;  // Version of the program that made it.
  std::string created;         // "2026-11-21T06:25:07Z"
  std::string target;          // Canonical text.
  // Nothing for a package of a tag or a session, and for older programs.
  std::optional<PackagedGolden> golden;
  std::vector<std::string> caches;            // In which they were measured, in order: "warm".
  std::map<std::string, PackagedFile> files;  // Cache states while measuring, in order: "warm".

  friend bool operator==(const Manifest&, const Manifest&) = default;
};

// docs/formats/package.md; ends with a newline.
std::string ManifestText(const Manifest& manifest);
// kFailedPrecondition for a later version, kDataLoss for an invalid manifest: a path that leaves
// the package, a malformed hash.
Result<Manifest> ParseManifest(std::string_view text);

}  // namespace attune
