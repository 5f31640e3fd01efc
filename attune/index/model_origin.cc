#include "attune/index/model_origin.h"

#include <fmt/format.h>

#include "attune/base/fingerprint.h"
#include "attune/index/index_writer.h"

namespace attune {
namespace {

constexpr std::string_view kLibraryPrefix = "library.";

}  // namespace

std::string LibrariesOf(const Environment& environment) {
  std::string text;
  for (const auto& [key, value] : environment) {
    if (!key.starts_with(kLibraryPrefix)) continue;
    text +=
        fmt::format("{}{} {}", text.empty() ? "" : ", ", key.substr(kLibraryPrefix.size()), value);
  }
  return text.empty() ? "none" : text;
}

ModelOrigin OriginOf(const Target& target, const Environment& environment) {
  return {Text(target), LibrariesOf(environment)};
}

std::filesystem::path ModelPathOf(std::string_view database, const ModelOrigin& origin,
                                  std::string_view operator_name) {
  const std::string of = FingerprintOf(origin.device + '\n' + origin.library).ToHex();
  return IndexPathOf(database).replace_extension("models") /
         fmt::format("{}-{}.model", operator_name, of);
}

}  // namespace attune
