#include "attune/kernel/file_place.h"

#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "attune/base/file.h"
#include "attune/kernel/json_line.h"
#include "attune/kernel/t1_file.h"

namespace attune::kernel {

Status AtPointer(const Status& status, const std::filesystem::path& path, std::string_view json) {
  const std::string& message = status.message();
  if (!message.starts_with('/')) return status.WithContext(path.string());
  const std::string_view pointer = std::string_view(message).substr(0, message.find(": "));
  return status.WithContext(fmt::format("{}:{}", path.string(), LineOf(json, pointer)));
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
  const auto document = nlohmann::json::parse(*json, nullptr, false);
  return IsT1(document) ? AtPointerInT1(status, path, *json) : AtPointer(status, path, *json);
}

}  // namespace attune::kernel
