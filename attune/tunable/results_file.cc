#include "attune/tunable/results_file.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "attune/base/told_time.h"
#include "attune/formats/cublaslt_name.h"
#include "attune/formats/tunable_names.h"
#include "attune/problem/escaping.h"
#include "attune/problem/text_error.h"

namespace attune {
namespace {

constexpr std::string_view kBlasColumn = "BLAS_PARAMS: ";
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
// No line of TunableOp comes near it; longer lines are kept and not parsed.
constexpr size_t kMaxLineBytes = 16384;

// Cuts the first column off `rest`, which becomes empty with `more` false at the end.
struct ColumnReader {
  std::string_view rest;
  bool more = true;

  std::string_view Next() { return Cut(rest.find(',')); }

  // A solution may hold commas between quotes or braces.
  std::string_view NextSolution() {
    if (rest.starts_with('"')) {
      const size_t quote = rest.find('"', 1);
      if (quote != std::string_view::npos) return Cut(rest.find(',', quote));
    }
    const size_t comma = rest.find(',');
    const size_t open = rest.find('{');
    if (open != std::string_view::npos && open < comma) {
      const size_t close = rest.find('}', open);
      if (close != std::string_view::npos) return Cut(rest.find(',', close));
    }
    return Cut(comma);
  }

 private:
  std::string_view Cut(size_t at) {
    const std::string_view column = rest.substr(0, at);
    more = at != std::string_view::npos;
    rest = more ? rest.substr(at + 1) : std::string_view();
    return column;
  }
};

bool IsQuoted(std::string_view column) {
  return column.size() >= 2 && column.starts_with('"') && column.ends_with('"');
}

// Spreadsheets put every column into double quotes.
std::string_view Unquoted(std::string_view column) {
  return IsQuoted(column) ? column.substr(1, column.size() - 2) : column;
}

std::string SolutionOf(std::string_view column) {
  if (IsQuoted(column)) return std::string(Unquoted(column));
  return Unescaped(column).value_or(std::string(column));
}

// Accepts only measurable times: TunableOp writes "inf" if no candidate could compute.
std::optional<double> ReadMilliseconds(std::string_view text) {
  constexpr double kNsInMs = 1e6;
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || !CanBeMeasured(value * kNsInMs)) return std::nullopt;
  return value;
}

bool HasControlBytes(std::string_view text) {
  return std::ranges::any_of(text, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && c != '\t') || byte == 0x7f;
  });
}

// Columns after the solution.
Status ReadExtras(std::string_view rest, ResultLine& line) {
  // Last, because the text of BLAS_PARAMS has commas of its own.
  const size_t at = rest.rfind(kProblemColumn);
  if (at != std::string_view::npos && (at == 0 || rest[at - 1] == ',')) {
    const auto text = Unescaped(rest.substr(at + kProblemColumn.size()));
    if (!text) return InvalidArgument("The text after ATTUNE_PROBLEM is not escaped as %XX.");
    line.problem_text = *text;
    rest = rest.substr(0, at == 0 ? 0 : at - 1);
  }
  // A comma without a time after the solution is an error; the time may be omitted with its comma.
  if (rest.empty() && at != std::string_view::npos) return Status::Ok();
  if (!rest.starts_with(kBlasColumn)) {
    const size_t end = std::min(rest.find(','), rest.size());
    line.milliseconds = ReadMilliseconds(Unquoted(rest.substr(0, end)));
    if (!line.milliseconds) {
      return InvalidArgument(fmt::format("Expected a measurable time in milliseconds, found {}.",
                                         Quoted(rest.substr(0, end))));
    }
    rest = end == rest.size() ? std::string_view() : rest.substr(end + 1);
  }
  if (rest.starts_with(kBlasColumn)) line.blas_params = rest.substr(kBlasColumn.size());
  return Status::Ok();
}

bool IsValidator(std::string_view line) {
  return IsTunableOpValidator(line) || line.starts_with("\"Validator\",");
}

std::string_view WithoutEnd(std::string_view line) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

FileLine ParseFileLine(std::string_view text, bool is_first) {
  FileLine line;
  line.text = text;
  std::string_view content = WithoutEnd(text);
  if (is_first && content.starts_with(kByteOrderMark)) {
    content.remove_prefix(kByteOrderMark.size());
  }
  if (content.empty() || content.starts_with('#')) return line;
  if (IsValidator(content) && !HasControlBytes(content)) {
    ColumnReader columns{content};
    columns.Next();
    const std::string_view key = Unquoted(columns.Next());
    if (columns.more && !key.empty()) {
      line.kind = FileLineKind::kValidator;
      const std::string_view value = Unquoted(columns.rest);
      line.validator = {std::string(key), Unescaped(value).value_or(std::string(value))};
      return line;
    }
  }
  auto result = ParseResultLine(content);
  line.kind = result.ok() ? FileLineKind::kResult : FileLineKind::kUnreadable;
  if (result.ok()) {
    line.result = *std::move(result);
  } else {
    line.reason = result.error().message();
  }
  return line;
}

bool IsOwnSolution(const std::string& solution) { return ParseSolution(solution).ok(); }

// Position behind the last line of `section`.
size_t EndOfSection(const ResultsFile& file, size_t section) {
  for (size_t i = file.lines.size(); i-- > 0;) {
    if (file.lines[i].section == section) return i + 1;
  }
  return file.lines.size();
}

// The key that two lines share if they are of one problem.
std::string Identity(const ResultLine& line) {
  return fmt::format("{},{},{}", line.key.op, line.key.params, line.problem_text);
}

FileLine MakeFileLine(const ResultLine& result, size_t section) {
  FileLine line;
  line.kind = FileLineKind::kResult;
  line.text = Text(result) + "\n";
  line.section = section;
  line.result = result;
  return line;
}

// So that a line can follow.
void EndLine(FileLine& line) {
  if (!line.text.ends_with('\n')) line.text += '\n';
}

}  // namespace

std::string Text(const ResultLine& line) {
  std::string text = fmt::format("{},{},{}", line.key.op, line.key.params, Escaped(line.solution));
  if (line.milliseconds) text += fmt::format(",{}", *line.milliseconds);
  if (!line.blas_params.empty()) text += fmt::format(",{}{}", kBlasColumn, line.blas_params);
  if (!line.problem_text.empty()) {
    text += fmt::format(",{}{}", kProblemColumn, Escaped(line.problem_text));
  }
  return text;
}

Result<ResultLine> ParseResultLine(std::string_view text) {
  if (text.size() > kMaxLineBytes) {
    return InvalidArgument(
        fmt::format("The line has {} bytes; the limit is {}.", text.size(), kMaxLineBytes));
  }
  if (HasControlBytes(text)) return InvalidArgument("The line has control characters.");
  ColumnReader columns{text};
  ResultLine line;
  line.key.op = Unquoted(columns.Next());
  line.key.params = Unquoted(columns.Next());
  if (!columns.more) {
    return InvalidArgument("Expected at least three columns: operator, parameters, solution.");
  }
  line.solution = SolutionOf(columns.NextSolution());
  if (line.key.op.empty() || line.key.params.empty() || line.solution.empty()) {
    return InvalidArgument("Operator, parameters and solution must not be empty.");
  }
  if ((line.key.op + line.key.params).find('"') != std::string::npos) {
    return InvalidArgument("A double quote in the operator or its parameters has no match.");
  }
  if (columns.more) ATTUNE_RETURN_IF_ERROR(ReadExtras(columns.rest, line));
  return line;
}

std::string ValidatorLine(const Validator& validator) {
  return fmt::format("Validator,{},{}", Escaped(validator.first), Escaped(validator.second));
}

ResultsFile ParseResultsFile(std::string_view content) {
  ResultsFile file;
  file.sections.emplace_back();
  bool in_block = true;
  while (!content.empty()) {
    const size_t end = std::min(content.find('\n'), content.size() - 1) + 1;
    FileLine line = ParseFileLine(content.substr(0, end), file.lines.empty());
    content.remove_prefix(end);
    if (line.kind == FileLineKind::kValidator) {
      // A repeated key begins another block: all results of the previous one were deleted.
      const bool repeats = std::ranges::any_of(file.sections.back(), [&](const Validator& other) {
        return other.first == line.validator.first;
      });
      if (!in_block || repeats) file.sections.emplace_back();
      in_block = true;
      file.sections.back().push_back(line.validator);
    } else if (line.kind != FileLineKind::kBlank) {
      in_block = false;
    }
    line.section = file.sections.size() - 1;
    file.lines.push_back(std::move(line));
  }
  return file;
}

std::string Text(const ResultsFile& file) {
  std::string text;
  for (const FileLine& line : file.lines) text += line.text;
  return text;
}

void PutResults(std::span<const ResultLine> results, size_t section, ResultsFile& file) {
  std::unordered_map<std::string, size_t> first_of;
  for (size_t i = 0; i < file.lines.size(); ++i) {
    const FileLine& line = file.lines[i];
    if (line.kind != FileLineKind::kResult || line.section != section) continue;
    first_of.emplace(Identity(line.result), i);
  }
  std::unordered_map<size_t, FileLine> before;
  std::vector<FileLine> appended;
  std::unordered_set<std::string> seen;
  for (const ResultLine& result : results) {
    std::string identity = Identity(result);
    const auto same = first_of.find(identity);
    if (!seen.insert(std::move(identity)).second) continue;
    if (same == first_of.end()) {
      appended.push_back(MakeFileLine(result, section));
    } else if (file.lines[same->second].result == result) {
      continue;
    } else if (IsOwnSolution(file.lines[same->second].result.solution)) {
      file.lines[same->second] = MakeFileLine(result, section);
    } else {
      before.emplace(same->second, MakeFileLine(result, section));
    }
  }
  const size_t end = EndOfSection(file, section);
  if (end > 0 && !appended.empty()) EndLine(file.lines[end - 1]);
  std::vector<FileLine> lines;
  lines.reserve(file.lines.size() + before.size() + appended.size());
  for (size_t i = 0; i <= file.lines.size(); ++i) {
    if (i == end) std::ranges::move(appended, std::back_inserter(lines));
    if (const auto found = before.find(i); found != before.end()) {
      lines.push_back(std::move(found->second));
    }
    if (i < file.lines.size()) lines.push_back(std::move(file.lines[i]));
  }
  file.lines = std::move(lines);
}

size_t AddSection(const std::vector<Validator>& validators, ResultsFile& file) {
  if (!file.lines.empty()) EndLine(file.lines.back());
  const bool is_untouched = file.lines.empty() && file.sections.back().empty();
  if (!is_untouched) file.sections.emplace_back();
  const size_t section = file.sections.size() - 1;
  for (const Validator& validator : validators) {
    FileLine line;
    line.kind = FileLineKind::kValidator;
    line.text = ValidatorLine(validator) + "\n";
    line.section = section;
    line.validator = validator;
    file.sections.back().push_back(validator);
    file.lines.push_back(std::move(line));
  }
  return section;
}

}  // namespace attune
