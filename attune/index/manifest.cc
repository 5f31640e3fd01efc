#include "attune/index/manifest.h"

#include <openssl/evp.h>

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace attune {
namespace {

using Json = nlohmann::json;

constexpr const char* kFormat = "attune-package";

bool IsHash(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// Returns true if `path` stays inside of the package, whether it exists or not.
bool IsInside(const std::filesystem::path& path) {
  if (path.empty() || path.is_absolute()) return false;
  return std::none_of(path.begin(), path.end(),
                      [](const auto& part) { return part == ".." || part == "." || part.empty(); });
}

std::string TextAt(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

// Informational, so that an unreadable value counts as absent.
std::optional<PackagedGolden> GoldenAt(const Json& json) {
  const auto found = json.find("golden");
  if (found == json.end() || !found->is_object()) return std::nullopt;
  const auto approved = found->find("approved");
  return PackagedGolden{TextAt(*found, "version"), approved != found->end() &&
                                                       approved->is_boolean() &&
                                                       approved->get<bool>()};
}

Result<PackagedFile> ParseFile(const std::string& path, const Json& json) {
  PackagedFile file;
  if (json.is_object() && json.contains("bytes") && json["bytes"].is_number_integer()) {
    file.size_bytes = json["bytes"].get<int64_t>();
    file.sha256 = TextAt(json, "sha256");
    if (IsInside(path) && file.size_bytes >= 0 && IsHash(file.sha256)) return file;
  }
  return DataLoss(
      fmt::format("The manifest's entry of file '{}' has no size and hash of a file in "
                  "the package.",
                  path));
}

}  // namespace

std::string Sha256Hex(std::string_view bytes) {
  unsigned char digest[EVP_MAX_MD_SIZE] = {};
  unsigned int size = 0;
  // Fails only without memory; then no hash matches.
  if (EVP_Digest(bytes.data(), bytes.size(), digest, &size, EVP_sha256(), nullptr) != 1) return "";
  std::string hex;
  for (unsigned int i = 0; i < size; ++i) hex += fmt::format("{:02x}", digest[i]);
  return hex;
}

std::string ManifestText(const Manifest& manifest) {
  Json files = Json::object();
  for (const auto& [path, file] : manifest.files) {
    files[path] = {{"bytes", file.size_bytes}, {"sha256", file.sha256}};
  }
  Json json = {{"format", kFormat},
               {"version", Manifest::kVersion},
               {"attune_version", manifest.attune_version},
               {"created", manifest.created},
               {"target", manifest.target},
               {"files", files}};
  if (manifest.golden) {
    json["golden"] = {{"version", manifest.golden->version},
                      {"approved", manifest.golden->is_approved}};
  }
  if (!manifest.caches.empty()) json["caches"] = manifest.caches;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<Manifest> ParseManifest(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || TextAt(json, "format") != kFormat || !json.contains("version") ||
      !json["version"].is_number_integer() || !json.contains("files") ||
      !json["files"].is_object()) {
    return DataLoss("It is no manifest of a package: format, version or files are missing.");
  }
  const auto version = json["version"].get<int64_t>();
  if (version != Manifest::kVersion) {
    return FailedPrecondition(
        fmt::format("The package has version {} of the format, and this program reads version {}. "
                    "Use a newer release of attune, or make the package anew.",
                    version, Manifest::kVersion));
  }
  Manifest manifest;
  manifest.attune_version = TextAt(json, "attune_version");
  manifest.created = TextAt(json, "created");
  manifest.target = TextAt(json, "target");
  manifest.golden = GoldenAt(json);
  if (json.contains("caches") && json["caches"].is_array()) {
    for (const Json& cache : json["caches"]) {
      if (cache.is_string()) manifest.caches.push_back(cache.get<std::string>());
    }
  }
  for (const auto& [path, entry] : json["files"].items()) {
    ATTUNE_ASSIGN_OR_RETURN(manifest.files[path], ParseFile(path, entry));
  }
  return manifest;
}

}  // namespace attune
