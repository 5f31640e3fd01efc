#include "attune/space/config.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include <fmt/format.h>

namespace attune {
namespace {

Status ErrorAt(size_t offset, std::string_view text, std::string_view reason) {
  return InvalidArgument(
      fmt::format("Column {}: config '{}' {}", offset + 1, text.substr(0, 200), reason));
}

}  // namespace

bool IsParameterName(std::string_view name) {
  if (name.empty() || (name.front() >= '0' && name.front() <= '9')) return false;
  for (const char c : name) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    if (!letter && !(c >= '0' && c <= '9')) return false;
  }
  return true;
}

std::string Text(const Config& config) {
  std::string text;
  for (const auto& [name, value] : config) {
    if (!text.empty()) text += ',';
    text += name;
    text += '=';
    text += Text(value);
  }
  return text;
}

Result<Config> ParseConfig(std::string_view text) {
  Config config;
  size_t begin = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view pair = text.substr(begin, end - begin);
    const size_t equals = pair.find('=');
    if (equals == std::string_view::npos || !IsParameterName(pair.substr(0, equals))) {
      return ErrorAt(begin, text, "needs name=value here, with a name in [A-Za-z_][A-Za-z0-9_]*.");
    }
    ParameterValue value = ParseParameterValue(pair.substr(equals + 1));
    if (!IsWellFormed(value)) {
      return ErrorAt(begin + equals + 1, text,
                     "has a value here that is neither a number nor a word in "
                     "[A-Za-z_:][A-Za-z0-9_.:+-]*.");
    }
    if (!config.emplace(pair.substr(0, equals), std::move(value)).second) {
      return ErrorAt(begin, text, "gives a value twice to the parameter here.");
    }
    if (end == text.size()) break;
    begin = end + 1;
  }
  return config;
}

int64_t IntegerAt(const Config& config, std::string_view name) {
  const auto found = config.find(name);
  assert(found != config.end());
  return std::get<int64_t>(found->second);
}

const std::string& StringAt(const Config& config, std::string_view name) {
  const auto found = config.find(name);
  assert(found != config.end());
  return std::get<std::string>(found->second);
}

}  // namespace attune
