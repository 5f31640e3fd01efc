#include "attune/kernel/name_expression.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "attune/kernel/json_place.h"

namespace attune::kernel {
namespace {

constexpr std::string_view kSigns = "_:<>,()[]+-*/%&|^~!=?. ";

bool IsOfExpression(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         kSigns.find(c) != std::string_view::npos;
}

// Where the arguments of the template begin, or the end.
size_t EndOfName(std::string_view function) {
  return std::min(function.find('<'), function.size());
}

}  // namespace

bool IsNameExpression(std::string_view function) { return !IsIdentifier(function); }

std::string MistakeInNameExpression(std::string_view text) {
  const auto strange = std::find_if_not(text.begin(), text.end(), IsOfExpression);
  if (strange != text.end())
    return fmt::format("holds '{}', which no name of a kernel has", *strange);
  size_t end = EndOfName(text);
  if (end < text.size() && text.back() != '>') return "does not end with '>'";
  while (end > 0 && text[end - 1] == ' ') --end;
  std::string_view name = text.substr(0, end);
  if (name.starts_with("::")) name.remove_prefix(2);
  while (!name.empty()) {
    const size_t next = name.find("::");
    const std::string_view part = name.substr(0, next);
    if (!IsIdentifier(part)) return fmt::format("has '{}' where a name should be", part);
    if (next == std::string_view::npos) return "";
    name.remove_prefix(next + 2);
  }
  return "has no name in front of '<'";
}

bool IsSymbol(std::string_view text) {
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text.front())) == 0 &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' ||
                  c == '.';
         });
}

std::string_view LastNameOf(std::string_view function) {
  size_t end = EndOfName(function);
  while (end > 0 && function[end - 1] == ' ') --end;
  const std::string_view name = function.substr(0, end);
  const size_t colon = name.rfind(':');
  return colon == std::string_view::npos ? name : name.substr(colon + 1);
}

std::vector<std::string> NameExpressionsOf(const KernelFile& file) {
  std::vector<std::string> names;
  for (const KernelLaunch& launch : file.launches) {
    const bool is_new = std::find(names.begin(), names.end(), launch.function) == names.end();
    if (is_new && IsNameExpression(launch.function)) names.push_back(launch.function);
  }
  return names;
}

}  // namespace attune::kernel
