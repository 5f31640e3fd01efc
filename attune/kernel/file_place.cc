#include "attune/kernel/file_place.h"

#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "attune/base/file.h"
#include "attune/base/json_reader.h"
#include "attune/kernel/t1_file.h"

namespace attune::kernel {

std::string PathAt(const std::filesystem::path& path, std::string_view json,
                   std::string_view pointer) {
  const TextPlace place = PlaceOf(json, pointer);
  return fmt::format("{}:{}:{}", path.string(), place.line, place.column);
}

Status AtPointer(const Status& status, const std::filesystem::path& path, std::string_view json) {
  const std::string& message = status.message();
  if (!message.starts_with('/')) return status.WithContext(path.string());
  const std::string_view pointer = std::string_view(message).substr(0, message.find(": "));
  return status.WithContext(PathAt(path, json, pointer));
}

Status AtPointerInT1(const Status& status, const std::filesystem::path& path,
                     std::string_view json) {
  const std::string& message = status.message();
  const size_t end = message.find(": ");
  if (!message.starts_with('/') || end == std::string::npos) {
    return status.WithContext(path.string());
  }
  const std::string place = PlaceInT1(std::string_view(message).substr(0, end));
  return AtPointer(Status(status.code(), place + message.substr(end)), path, json);
}

Status AtPlaceIn(const std::filesystem::path& path, const Status& status) {
  const auto json = ReadFileAtOnce(path);
  if (!json.ok()) return status.WithContext(path.string());
  const auto document = ReadJson(*json, kJsonOfOthers);
  return document.ok() && IsT1(*document) ? AtPointerInT1(status, path, *json)
                                          : AtPointer(status, path, *json);
}

}  // namespace attune::kernel
