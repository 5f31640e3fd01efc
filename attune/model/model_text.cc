#include "attune/model/model_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>

#include <fmt/format.h>

#include "attune/base/fingerprint.h"
#include "attune/base/text.h"

namespace attune {
namespace {

constexpr std::string_view kSeal = "seal ";

}  // namespace

std::optional<size_t> ParseIndex(std::string_view text) {
  size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string HexFloat(double value) { return fmt::format("{:a}", value); }

std::optional<double> ParseHexFloat(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  if (!text.starts_with("0x")) return std::nullopt;
  text.remove_prefix(2);
  if (text.empty() || text.front() == '-') return std::nullopt;
  double value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::hex);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
    return std::nullopt;
  }
  return negative ? -value : value;
}

void AppendNumbers(std::string& text, std::string_view keyword, std::span<const double> values) {
  text += keyword;
  for (const double value : values) (text += ' ') += HexFloat(value);
  text += '\n';
}

bool IsOneLine(std::string_view text) {
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return static_cast<unsigned char>(c) < ' '; });
}

void AppendWord(std::string& text, std::string_view keyword, std::string_view value) {
  text += fmt::format("{} {}\n", keyword, value);
}

void AppendCount(std::string& text, std::string_view keyword, size_t value) {
  text += fmt::format("{} {}\n", keyword, value);
}

namespace {

// Columns as numbers without a zero: a, b, ..., Z, aa, ab, ...
constexpr std::string_view kColumnLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr size_t kMostColumnLetters = 4;

}  // namespace

void AppendTreeWord(std::string& text, const TreeWord& word) {
  if (word.column.has_value()) {
    std::string letters;
    for (size_t left = size_t{*word.column} + 1; left > 0;) {
      letters.insert(letters.begin(), kColumnLetters[(left - 1) % kColumnLetters.size()]);
      left = (left - 1) / kColumnLetters.size();
    }
    text += letters;
  }
  std::string number = fmt::format("{}", word.number);
  const size_t point = number.find("0.");
  if (point == (number.starts_with('-') ? 1u : 0u)) number.erase(point, 1);
  text += number;
}

std::optional<TreeWord> ParseTreeWord(std::string_view text) {
  TreeWord word;
  size_t column = 0;
  size_t letters = 0;
  while (letters < text.size() && letters <= kMostColumnLetters) {
    const size_t digit = kColumnLetters.find(text[letters]);
    if (digit == std::string_view::npos) break;
    column = column * kColumnLetters.size() + digit + 1;
    ++letters;
  }
  if (letters > kMostColumnLetters) return std::nullopt;
  if (letters > 0) word.column = static_cast<uint32_t>(column - 1);
  const char* const end = text.data() + text.size();
  const auto [read_to, error] = std::from_chars(text.data() + letters, end, word.number);
  if (error != std::errc() || read_to != end || !std::isfinite(word.number)) return std::nullopt;
  return word;
}

void AppendSeal(std::string& text) {
  const std::string seal = FingerprintOf(std::string_view(text)).ToHex();
  (text += kSeal) += seal;
  text += '\n';
}

Status CheckSeal(std::string_view text) {
  const size_t seal = text.rfind(kSeal);
  if (seal == text.npos || seal == 0 || text[seal - 1] != '\n') {
    return DataLoss("The model has no seal at its end: it was cut off.");
  }
  const std::string expected = FingerprintOf(text.substr(0, seal)).ToHex() + "\n";
  if (text.substr(seal + kSeal.size()) == expected) return Status::Ok();
  return DataLoss("The seal of the model is not that of its content: it was changed or cut off.");
}

Status ModelLines::Wrong(std::string_view what) const {
  return DataLoss(fmt::format("Line {}: {}", line_ - 1, what));
}

Result<std::string_view> ModelLines::Take(std::string_view keyword) {
  const size_t end = text_.find('\n');
  if (end == std::string_view::npos) {
    return DataLoss(fmt::format("Line {}: the file ends where '{}' should be.", line_, keyword));
  }
  std::string_view line = text_.substr(0, end);
  text_.remove_prefix(end + 1);
  ++line_;
  const size_t space = std::min(line.find(' '), line.size());
  if (line.substr(0, space) != keyword) {
    return Wrong(fmt::format("'{}' stands where '{}' should.", Excerpt(line), keyword));
  }
  line.remove_prefix(std::min(space + 1, line.size()));
  return line;
}

Result<std::string> ModelLines::Word(std::string_view keyword) {
  ATTUNE_ASSIGN_OR_RETURN(const std::string_view rest, Take(keyword));
  return std::string(rest);
}

Result<size_t> ModelLines::Count(std::string_view keyword, size_t most) {
  ATTUNE_ASSIGN_OR_RETURN(const std::string_view rest, Take(keyword));
  const std::optional<size_t> count = ParseIndex(rest);
  if (!count) return Wrong(fmt::format("'{}' is no number of '{}'.", Excerpt(rest), keyword));
  if (*count > most) {
    return Wrong(fmt::format("{} of '{}', where {} is most.", *count, keyword, most));
  }
  return *count;
}

Result<bool> ModelLines::IsThere(std::string_view keyword) {
  ATTUNE_ASSIGN_OR_RETURN(const size_t count, Count(keyword, 1));
  return count == 1;
}

Result<std::vector<std::string_view>> ModelLines::Words(std::string_view keyword) {
  ATTUNE_ASSIGN_OR_RETURN(std::string_view rest, Take(keyword));
  std::vector<std::string_view> words;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(' '), rest.size());
    words.push_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (words.empty()) return Wrong(fmt::format("Nothing stands behind '{}'.", keyword));
  return words;
}

Result<std::vector<double>> ModelLines::Numbers(std::string_view keyword, size_t count) {
  ATTUNE_ASSIGN_OR_RETURN(const std::vector<std::string_view> words, Words(keyword));
  std::vector<double> values;
  for (const std::string_view word : words) {
    const std::optional<double> value = ParseHexFloat(word);
    if (!value.has_value()) {
      return Wrong(fmt::format("'{}' is no finite hexadecimal number.", Excerpt(word)));
    }
    values.push_back(*value);
  }
  if (values.size() != count) {
    return Wrong(
        fmt::format("{} numbers of '{}', where {} belong.", values.size(), keyword, count));
  }
  return values;
}

}  // namespace attune
