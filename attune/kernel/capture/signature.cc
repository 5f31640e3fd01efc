#include "attune/kernel/capture/signature.h"

#include <algorithm>
#include <cctype>
#include <set>

namespace attune::capture {
namespace {

constexpr int kMostExpansions = 64;

bool IsWordCharacter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// Comments become blanks; a string or a character keeps its quotes alone.
std::string WithoutComments(std::string_view source) {
  std::string text;
  for (size_t i = 0; i < source.size(); ++i) {
    if (source.substr(i, 2) == "//") {
      while (i < source.size() && source[i] != '\n') ++i;
      text += '\n';
    } else if (source.substr(i, 2) == "/*") {
      const size_t end = source.find("*/", i + 2);
      i = end == std::string_view::npos ? source.size() : end + 1;
      text += ' ';
    } else if (source[i] == '"' || source[i] == '\'') {
      const char quote = source[i];
      text += quote;
      for (++i; i < source.size() && source[i] != quote && source[i] != '\n'; ++i) {
        if (source[i] == '\\') ++i;
      }
      text += quote;
    } else {
      text += source[i];
    }
  }
  return text;
}

// Words and single characters; blanks divide them and are gone.
std::vector<std::string> Tokens(std::string_view text) {
  std::vector<std::string> tokens;
  for (size_t i = 0; i < text.size();) {
    if (std::isspace(static_cast<unsigned char>(text[i])) != 0) {
      ++i;
    } else if (IsWordCharacter(text[i])) {
      const size_t begin = i;
      while (i < text.size() && IsWordCharacter(text[i])) ++i;
      tokens.emplace_back(text.substr(begin, i - begin));
    } else {
      tokens.emplace_back(1, text[i++]);
    }
  }
  return tokens;
}

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) {
    text.remove_prefix(1);
  }
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) {
    text.remove_suffix(1);
  }
  return text;
}

// Reads "#define real float" and "typedef float real;". A name defined in several branches has the
// value of the first, unless `macros` has one.
void AddNamesOf(std::string_view text, Macros& macros) {
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::vector<std::string> words = Tokens(text.substr(at, end - at));
    at = end + 1;
    const bool is_define = words.size() >= 4 && words[0] == "#" && words[1] == "define";
    const bool is_typedef = words.size() >= 4 && words[0] == "typedef" && words.back() == ";";
    if (!is_define && !is_typedef) continue;
    const std::string& name = is_define ? words[2] : words[words.size() - 2];
    std::string value;
    const size_t first = is_define ? 3 : 1;
    const size_t last = is_define ? words.size() : words.size() - 2;
    // A macro with parameters is no alias of a type.
    if (is_define && words[3] == "(") continue;
    for (size_t i = first; i < last; ++i) value += (value.empty() ? "" : " ") + words[i];
    macros.emplace(name, value);
  }
}

std::vector<std::string> Expanded(std::vector<std::string> tokens, const Macros& macros) {
  for (int round = 0; round < kMostExpansions; ++round) {
    const auto found = std::find_if(tokens.begin(), tokens.end(), [&](const std::string& token) {
      const auto macro = macros.find(token);
      return macro != macros.end() && macro->second != token;
    });
    if (found == tokens.end()) break;
    const std::vector<std::string> value = Tokens(macros.find(*found)->second);
    const auto at = tokens.erase(found);
    tokens.insert(at, value.begin(), value.end());
  }
  return tokens;
}

// The place of the bracket that closes the one at `open`, or the end.
size_t CloseOf(std::string_view text, size_t open) {
  int depth = 0;
  for (size_t i = open; i < text.size(); ++i) {
    if (text[i] == '(') ++depth;
    if (text[i] == ')' && --depth == 0) return i;
  }
  return text.size();
}

std::vector<std::string_view> SplitParameters(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ',';
    if (c == '(' || c == '<' || c == '[') ++depth;
    if (c == ')' || c == '>' || c == ']') --depth;
    if (c != ',' || (depth > 0 && i < text.size())) continue;
    parts.push_back(Trimmed(text.substr(begin, i - begin)));
    begin = i + 1;
  }
  if (parts.size() == 1 && (parts[0].empty() || parts[0] == "void")) parts.clear();
  return parts;
}

// The part of the text in front of a name that belongs to its declaration.
std::string_view DeclarationIn(std::string_view before) {
  const size_t end = before.find_last_of(";{}#");
  if (end != std::string_view::npos) before.remove_prefix(end + 1);
  return before;
}

// The parameters of the template that `declaration` begins with stand for `arguments`.
void AddTemplateArguments(std::string_view declaration, std::string_view arguments,
                          Macros& macros) {
  const size_t word = declaration.find("template");
  const size_t open = declaration.find('<', word);
  if (word == std::string_view::npos || open == std::string_view::npos) return;
  size_t close = open;
  int depth = 0;
  do {
    if (declaration[close] == '<') ++depth;
    if (declaration[close] == '>') --depth;
    ++close;
  } while (depth > 0 && close < declaration.size());
  const auto parameters = SplitParameters(declaration.substr(open + 1, close - open - 2));
  const auto given = SplitParameters(arguments.substr(1, arguments.size() - 2));
  for (size_t i = 0; i < parameters.size() && i < given.size(); ++i) {
    const std::vector<std::string> words = Tokens(parameters[i].substr(0, parameters[i].find('=')));
    if (!words.empty()) macros[words.back()] = given[i];
  }
}

// True if the text in front of the name declares a kernel.
bool IsKernel(std::string_view before, const Macros& macros) {
  before = DeclarationIn(before);
  for (const std::string& token : Expanded(Tokens(before), macros)) {
    if (token == "__kernel" || token == "kernel" || token == "__global__") return true;
  }
  return false;
}

}  // namespace

KernelParameter ParseParameter(std::string_view text, const Macros& macros) {
  static const std::set<std::string_view> kGlobal = {"__global", "global"};
  static const std::set<std::string_view> kConstant = {"__constant", "constant"};
  static const std::set<std::string_view> kLocal = {"__local", "local"};
  static const std::set<std::string_view> kIgnored = {
      "__private",    "private",      "volatile",  "restrict",   "__restrict", "__restrict__",
      "__read_only",  "__write_only", "read_only", "write_only", "struct",     "__grid_constant__",
      "__read_write", "read_write",   "[",         "]"};
  KernelParameter parameter;
  std::vector<std::string> words;
  for (std::string& token : Expanded(Tokens(text), macros)) {
    if (kGlobal.contains(token)) {
      parameter.address = SpoolAddress::kGlobal;
    } else if (kConstant.contains(token)) {
      parameter.address = SpoolAddress::kConstant;
    } else if (kLocal.contains(token)) {
      parameter.address = SpoolAddress::kLocal;
    } else if (token == "*" || token == "[") {
      parameter.is_pointer = true;
    } else if (token == "const") {
      // A const behind the star qualifies the pointer itself.
      parameter.is_const = parameter.is_const || !parameter.is_pointer;
    } else if (!kIgnored.contains(token)) {
      words.push_back(std::move(token));
    }
  }
  static const std::set<std::string_view> kParts = {"unsigned", "signed", "int",   "long",
                                                    "short",    "char",   "float", "double"};
  // A lone word is a type without a name, as drivers report types.
  const bool has_name = words.size() > 1 && !kParts.contains(words.back());
  if (has_name) {
    parameter.name = words.back();
    words.pop_back();
  }
  for (const std::string& word : words) {
    parameter.type += (parameter.type.empty() ? "" : " ") + word;
  }
  return parameter;
}

std::optional<std::vector<KernelParameter>> ParseSignature(std::string_view source,
                                                           std::string_view function,
                                                           const Macros& macros) {
  const size_t end_of_name = std::min(function.find('<'), function.size());
  const std::string_view arguments = function.substr(end_of_name);
  function = function.substr(0, end_of_name);
  const std::string text = WithoutComments(source);
  Macros names = macros;
  AddNamesOf(text, names);
  for (size_t at = text.find(function); at != std::string::npos; at = text.find(function, at + 1)) {
    const size_t end = at + function.size();
    const size_t open = text.find_first_not_of(" \t\r\n", end);
    const bool is_word = (at == 0 || !IsWordCharacter(text[at - 1])) && open != std::string::npos &&
                         text[open] == '(';
    if (!is_word || !IsKernel(std::string_view(text).substr(0, at), names)) continue;
    if (!arguments.empty()) {
      AddTemplateArguments(DeclarationIn(std::string_view(text).substr(0, at)), arguments, names);
    }
    const std::string_view inside =
        std::string_view(text).substr(open + 1, CloseOf(text, open) - open - 1);
    std::vector<KernelParameter> parameters;
    for (const std::string_view part : SplitParameters(inside)) {
      parameters.push_back(ParseParameter(part, names));
    }
    return parameters;
  }
  return std::nullopt;
}

std::optional<DataType> ElementOf(std::string_view type) {
  static const std::map<std::string_view, DataType> kTypes = {
      {"float", DataType::kF32},          {"double", DataType::kF64},
      {"half", DataType::kF16},           {"__half", DataType::kF16},
      {"__nv_bfloat16", DataType::kBf16}, {"int", DataType::kI32},
      {"uint", DataType::kI32},           {"unsigned", DataType::kI32},
      {"unsigned int", DataType::kI32},   {"int32_t", DataType::kI32},
      {"uint32_t", DataType::kI32},       {"char", DataType::kI8},
      {"signed char", DataType::kI8},     {"int8_t", DataType::kI8},
      {"uchar", DataType::kI8},           {"unsigned char", DataType::kI8},
      {"uint8_t", DataType::kI8}};
  const auto whole = kTypes.find(type);
  if (whole != kTypes.end()) return whole->second;
  // Vectors of 2, 3, 4, 8 and 16.
  for (const std::string_view width : {"16", "2", "3", "4", "8"}) {
    if (!type.ends_with(width)) continue;
    const auto part = kTypes.find(type.substr(0, type.size() - width.size()));
    if (part != kTypes.end()) return part->second;
  }
  return std::nullopt;
}

}  // namespace attune::capture
