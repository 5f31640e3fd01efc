// A results file of TunableOp as a value that loses nothing: every line is kept byte for byte, and
// each is also understood as far as it can be. docs/tunableop.md has the form.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attune/base/status.h"
#include "attune/formats/tunableop.h"

namespace attune {

using Validator = std::pair<std::string, std::string>;  // Key and value, as in the file.

// `op,params,solution[,milliseconds][,BLAS_PARAMS: ...][,ATTUNE_PROBLEM: ...]`
struct ResultLine {
  TunableOpKey key;
  std::string solution;  // Unescaped: "Default", a candidate text, or any other name.
  std::optional<double> milliseconds;
  std::string blas_params;  // The text after "BLAS_PARAMS: "; empty for none.
  // The text after "ATTUNE_PROBLEM: ", unescaped: the line is for this problem alone. Empty: it is
  // for every problem with its key.
  std::string problem_text;

  friend bool operator==(const ResultLine&, const ResultLine&) = default;
};

// The line, without its end. Commas of the solution and the problem are written as %2C, so that
// readers that split at every comma find each column where they look for it.
std::string Text(const ResultLine& line);
// kInvalidArgument gives the reason. The times of hand-written lines may be absent; a solution may
// be in double quotes, or a candidate text with commas in its braces.
Result<ResultLine> ParseResultLine(std::string_view line);

std::string ValidatorLine(const Validator& validator);

enum class FileLineKind { kBlank, kValidator, kResult, kUnreadable };

struct FileLine {
  FileLineKind kind = FileLineKind::kBlank;  // kBlank: also comments, which begin with '#'.
  std::string text;     // Byte for byte, its end included; only the last line may have none.
  size_t section = 0;   // Index of its block of validators, from 0.
  ResultLine result;    // kResult only.
  Validator validator;  // kValidator only.
  std::string reason;   // kUnreadable only: why.
};

// A section is a block of validator lines and all lines up to the next block. Lines before the
// first block form a section without validators.
struct ResultsFile {
  std::vector<FileLine> lines;
  std::vector<std::vector<Validator>> sections;  // Never empty.
};

// Total: Text(ParseResultsFile(x)) == x for any bytes.
ResultsFile ParseResultsFile(std::string_view content);
std::string Text(const ResultsFile& file);

// Puts each of `results` into `section`: where its first line of the same key and problem is, if
// that was written by attune too (it is replaced), before that line if it was not (the first line
// wins, and nothing of others is lost), else at the end of the section.
void PutResults(std::span<const ResultLine> results, size_t section, ResultsFile& file);
// A new section at the end. Returns its number.
size_t AddSection(const std::vector<Validator>& validators, ResultsFile& file);

}  // namespace attune
