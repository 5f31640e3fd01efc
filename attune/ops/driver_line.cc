#include "attune/ops/driver_line.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace attune {
namespace {

constexpr std::string_view kProgram = "MIOpenDriver";

bool IsSpace(char c) { return c == ' ' || c == '\t'; }

bool IsProgram(std::string_view token) {
  if (!token.ends_with(kProgram)) return false;
  return token.size() == kProgram.size() || token[token.size() - kProgram.size() - 1] == '/';
}

struct TypeSuffix {
  std::string_view suffix;
  std::string_view type;
};

// Longest first, so that "bfp16fp32" is not read as "fp32". MIOpen's 8-bit floats have no
// infinities and no negative zero ("fnuz"), so they are not our f8 types.
constexpr TypeSuffix kTypeSuffixes[] = {
    {"bfp16fp32", "bf16_f32"}, {"fp16fp32", "f16_f32"}, {"bfp16", "bf16"},
    {"bfp8", "f8e5m2fnuz"},    {"fp16", "f16"},         {"fp32", "f32"},
    {"fp64", "f64"},           {"fp8", "f8e4m3fnuz"},   {"int8", "i8"},
};

// The operators of MIOpenDriver, without the suffix of their type.
constexpr std::string_view kOperators[] = {
    "conv",
    "CBAInfer",
    "CAInfer",
    "pool",
    "lrn",
    "activ",
    "softmax",
    "bnorm",
    "rnn",
    "rnn_seq",
    "gemm",
    "ctc",
    "dropout",
    "tensorop",
    "reduce",
    "layernorm",
    "groupnorm",
    "cat",
    "addlayernorm",
    "t5layernorm",
    "adam",
    "ampadam",
    "reduceextreme",
    "adamw",
    "ampadamw",
    "transformersadamw",
    "transformersampadamw",
    "getitem",
    "reducecalculation",
    "rope",
    "prelu",
    "kthvalue",
    "glu",
    "softmarginloss",
    "multimarginloss",
    "sum",
    "argmax",
};

bool IsOperator(std::string_view name) {
  return std::find(std::begin(kOperators), std::end(kOperators), name) != std::end(kOperators);
}

Parsed<DriverFlag> ReadFlag(std::string_view line, DriverToken token, size_t* at) {
  const std::string_view text = token.text;
  if (text.size() < 2 || text[0] != '-' || text == "--") {
    return ErrorAtOffset(
        token.offset,
        fmt::format("Expected a flag such as -n or --batchsize, found {}.", Quoted(text)));
  }
  if (text[1] == '-' && text.find('=') != std::string_view::npos) {
    return ErrorAtOffset(token.offset,
                         fmt::format("{} has a '='; the value is the next word.", Quoted(text)));
  }
  if (text[1] != '-' && text.size() > 2) {
    return ErrorAtOffset(token.offset,
                         fmt::format("A flag of one dash is one letter; {} is not.", Quoted(text)));
  }
  if (text == "-h" || text == "-?" || text == "--help") {
    return ErrorAtOffset(token.offset,
                         fmt::format("{} asks for help and describes no problem.", Quoted(text)));
  }
  DriverFlag flag{token, NextDriverToken(line, at)};
  if (flag.value.empty()) {
    return ErrorAtOffset(token.offset, fmt::format("Flag {} has no value.", Quoted(text)));
  }
  return flag;
}

}  // namespace

DriverToken NextDriverToken(std::string_view line, size_t* at) {
  size_t begin = *at;
  while (begin < line.size() && IsSpace(line[begin])) ++begin;
  size_t end = begin;
  while (end < line.size() && !IsSpace(line[end])) ++end;
  *at = end;
  return {line.substr(begin, end - begin), begin};
}

bool NamesDriverProgram(std::string_view line) {
  size_t at = 0;
  for (DriverToken token = NextDriverToken(line, &at); !token.empty();
       token = NextDriverToken(line, &at)) {
    if (IsProgram(token.text)) return true;
  }
  return false;
}

Parsed<DriverLine> SplitDriverLine(std::string_view line) {
  size_t at = 0;
  DriverToken token = NextDriverToken(line, &at);
  while (!token.empty() && !IsProgram(token.text)) token = NextDriverToken(line, &at);
  if (token.empty()) return ErrorAtOffset(0, "The line does not call MIOpenDriver.");
  DriverLine split;
  split.op = NextDriverToken(line, &at);
  if (split.op.empty()) {
    return ErrorAtOffset(token.offset, "MIOpenDriver is called without an operator.");
  }
  split.flags.reserve(20);
  for (token = NextDriverToken(line, &at); !token.empty(); token = NextDriverToken(line, &at)) {
    auto flag = ReadFlag(line, token, &at);
    if (!flag) return tl::unexpected(flag.error());
    split.flags.push_back(*flag);
  }
  return split;
}

std::optional<DriverOperator> ParseDriverOperator(std::string_view op) {
  if (IsOperator(op)) return DriverOperator{op, "f32"};
  for (const TypeSuffix& suffix : kTypeSuffixes) {
    if (!op.ends_with(suffix.suffix)) continue;
    const std::string_view name = op.substr(0, op.size() - suffix.suffix.size());
    if (IsOperator(name)) return DriverOperator{name, suffix.type};
  }
  return std::nullopt;
}

tl::unexpected<TextError> UnknownFlag(const DriverLine& line, const DriverFlag& flag) {
  return ErrorAtOffset(flag.flag.offset, fmt::format("MIOpenDriver {} has no flag {}.",
                                                     line.op.text, Quoted(flag.flag.text)));
}

tl::unexpected<TextError> BadFlagValue(const DriverFlag& flag, std::string_view expected) {
  return ErrorAtOffset(flag.value.offset,
                       fmt::format("Flag {} has the value {}; it takes {}.", flag.flag.text,
                                   Quoted(flag.value.text), expected));
}

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

std::string UpperCase(std::string_view text) {
  std::string upper(text);
  for (char& c : upper) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return upper;
}

}  // namespace attune
