#include "attune/library/json_line.h"

#include <fmt/format.h>

namespace attune {

std::string DumpLine(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

void PutBytes(const std::string& field, std::string_view bytes, Json& object) {
  object[field] = bytes;
  // A text that does not survive a round trip is not UTF-8.
  if (Json::parse(DumpLine(object[field])) == object[field]) return;
  std::string hex;
  for (const char byte : bytes) hex += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  object[field + "_hex"] = hex;
}

}  // namespace attune
