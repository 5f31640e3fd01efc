// Reads JSON that other programs write, and finds the place of a value in a JSON text.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "attune/base/status.h"
#include "attune/base/text_place.h"

namespace attune {

// The place where the value begins that the JSON pointer names (/launches/0/local), or the
// innermost value around it if there is none. REQUIRES: `json` is JSON, or the beginning of JSON.
TextPlace PlaceOf(std::string_view json, std::string_view pointer);

// `status` with the line and the column of the JSON pointer that its message begins with, if any.
Status AtPlaceOfPointer(const Status& status, std::string_view json);

// `key` as one token of a JSON pointer: "~1" for "/" and "~0" for "~".
std::string PointerToken(std::string_view key);

struct JsonTerms {
  int max_depth = 64;
  // NaN, Infinity and -Infinity are numbers, as Python's json module writes them.
  bool takes_non_finite = false;
};

inline constexpr JsonTerms kJsonOfOthers = {64, true};

// Refuses duplicate keys, deeper nesting than the terms allow and bytes that are not UTF-8.
// kInvalidArgument begins with line and column.
Result<nlohmann::json> ReadJson(std::string_view text, const JsonTerms& terms = {});
// The same with the keys in the order of the text.
Result<nlohmann::ordered_json> ReadOrderedJson(std::string_view text, const JsonTerms& terms = {});

// How a text ends that is the beginning of JSON.
struct JsonEnd {
  // Keys and indices of the values that have begun and not ended, outermost first.
  std::vector<std::string> path;
  // The quoted key or value in which the text ends, with its first quote; empty: it ends elsewhere.
  std::string quoted;
};

struct OpenJson {
  nlohmann::ordered_json document;  // Includes the parts of unended values.
  std::optional<JsonEnd> end;       // Nothing: the document is whole.
};

// As ReadOrderedJson. A text that ends too early is no error.
Result<OpenJson> ReadOpenJson(std::string_view text, const JsonTerms& terms = {});

}  // namespace attune
