// Lines of model files: a keyword, then words, or one text up to the end of the line. Numbers are
// written so that they read back to the last bit. docs/formats/model.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"

namespace attune {

// "nan" is never written: models have finite numbers.
std::string HexFloat(double value);
std::optional<double> ParseHexFloat(std::string_view text);
// Decimal digits and nothing else.
std::optional<size_t> ParseIndex(std::string_view text);

// "KEYWORD 0x1p+0 0x1.8p-3\n".
void AppendNumbers(std::string& text, std::string_view keyword, std::span<const double> values);
// True if `text` can stand at the end of a line of a model file.
bool IsOneLine(std::string_view text);

// "KEYWORD TEXT\n". REQUIRES: IsOneLine(value).
void AppendWord(std::string& text, std::string_view keyword, std::string_view value);
void AppendCount(std::string& text, std::string_view keyword, size_t value);
// "KEYWORD 1" and the lines of a part, or "KEYWORD 0" for one that was never fitted.
template <class Part>
void AppendOptional(std::string& text, std::string_view keyword, const std::optional<Part>& part) {
  AppendCount(text, keyword, part.has_value() ? 1 : 0);
  if (part.has_value()) part->AppendText(text);
}

// A node of a tree of BoostedTrees: "VALUE", a leaf, or the column of its features as letters and
// the threshold, "bc5.25". Both are floats, in as few digits as read back to the last bit.
struct TreeWord {
  std::optional<uint32_t> column;  // Nothing for a leaf.
  float number = 0;                // The value of a leaf, else the threshold; finite.
};
void AppendTreeWord(std::string& text, const TreeWord& word);
std::optional<TreeWord> ParseTreeWord(std::string_view text);

// Appends the last line, "seal FINGERPRINT" of all bytes before it.
void AppendSeal(std::string& text);
// kDataLoss if the last line is no seal or that of another content.
Status CheckSeal(std::string_view text);

// Reads such lines one after the other. Each call fails with kDataLoss and the line if the next one
// is another or is wrong.
class ModelLines {
 public:
  // `text` has to outlive this.
  explicit ModelLines(std::string_view text) : text_(text) {}

  bool AtEnd() const { return text_.empty(); }
  Result<std::string> Word(std::string_view keyword);
  // At most `most`, because a file may claim any number.
  Result<size_t> Count(std::string_view keyword, size_t most);
  // Reads the line of AppendOptional(). True if the lines of the part follow.
  Result<bool> IsThere(std::string_view keyword);
  // Finite ones, `count` of them.
  Result<std::vector<double>> Numbers(std::string_view keyword, size_t count);
  // Words between spaces, at least one.
  Result<std::vector<std::string_view>> Words(std::string_view keyword);
  // "kDataLoss: Line N: <what>" for the last line read.
  Status Wrong(std::string_view what) const;

 private:
  // The line without its keyword.
  Result<std::string_view> Take(std::string_view keyword);

  std::string_view text_;
  size_t line_ = 1;  // The next one.
};

}  // namespace attune
