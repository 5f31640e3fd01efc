#include "attune/problem/text_fields.h"

#include <fmt/format.h>

namespace attune {
namespace {

Parsed<TextField> ReadField(std::string_view text, size_t begin, size_t end) {
  const std::string_view pair = text.substr(begin, end - begin);
  const size_t equals = pair.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    return ErrorAtOffset(begin, fmt::format("Expected key=value here, found {}.", Quoted(pair)));
  }
  return TextField{pair.substr(0, equals), pair.substr(equals + 1), begin, begin + equals + 1};
}

Parsed<std::vector<TextField>> ReadFieldList(std::string_view text, size_t begin, size_t end) {
  std::vector<TextField> fields;
  fields.reserve(24);
  while (begin < end) {
    const size_t stop = std::min(text.find(',', begin), end);
    auto field = ReadField(text, begin, stop);
    if (!field) return tl::unexpected(field.error());
    for (const TextField& earlier : fields) {
      if (earlier.key != field->key) continue;
      return ErrorAtOffset(begin, fmt::format("Key {} is given twice.", Quoted(field->key)));
    }
    if (fields.size() == kMaxFields) {
      return ErrorAtOffset(begin, fmt::format("There are more than {} keys.", kMaxFields));
    }
    fields.push_back(*field);
    if (stop + 1 == end) return ErrorAtOffset(stop, "A comma is followed by nothing.");
    begin = stop + 1;
  }
  return fields;
}

}  // namespace

Parsed<TextFields> SplitFields(std::string_view text) {
  const size_t at = text.find('@');
  const size_t open = text.find('{');
  if (at == std::string_view::npos || at == 0 || open == std::string_view::npos || open < at) {
    return ErrorAtOffset(
        0, fmt::format("{} is not of the form operator@version{{key=value,...}}.", Quoted(text)));
  }
  TextFields list;
  list.name = text.substr(0, at);
  const std::string_view version = text.substr(at + 1, open - at - 1);
  if (!ReadInteger(version, 1, 1'000'000, list.version)) {
    return ErrorAtOffset(at + 1,
                         fmt::format("Version {} is not a positive integer.", Quoted(version)));
  }
  const size_t close = text.find('}', open);
  if (close != text.size() - 1) {
    const size_t place = close == std::string_view::npos ? text.size() : close + 1;
    return ErrorAtOffset(place, close == std::string_view::npos ? "The closing '}' is missing."
                                                                : "Nothing may follow the '}'.");
  }
  auto fields = ReadFieldList(text, open + 1, close);
  if (!fields) return tl::unexpected(fields.error());
  list.fields = std::move(*fields);
  return list;
}

std::string UnknownKeyReason(const TextFields& list, const TextField& field) {
  return fmt::format("{}@{} has no key {}.", list.name, list.version, Quoted(field.key));
}

std::string BadValueReason(const TextField& field, std::string_view expected) {
  return fmt::format("Key {} has the value {}; it takes {}.", field.key, Quoted(field.value),
                     expected);
}

std::string MissingKeyReason(const TextFields& list, std::string_view key) {
  return fmt::format("{}@{} needs the key {}.", list.name, list.version, key);
}

}  // namespace attune
