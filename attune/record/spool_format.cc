#include "attune/record/spool_format.h"

#include <optional>

#include <fmt/format.h>

#include "attune/base/fingerprint.h"
#include "attune/base/text.h"
#include "attune/problem/escaping.h"

namespace attune {
namespace {

constexpr std::string_view kMagic = "attune problem spool, version ";
constexpr std::string_view kVersion = "1";
constexpr size_t kChecksumDigits = 16;

// Half of the fingerprint suffices to detect torn and changed lines.
std::string_view ChecksumOf(std::string_view words, char (&digits)[kChecksumDigits]) {
  constexpr std::string_view kHex = "0123456789abcdef";
  uint64_t rest = FingerprintOf(words).high;
  for (size_t i = kChecksumDigits; i-- > 0; rest >>= 4) digits[i] = kHex[rest & 15];
  return {digits, kChecksumDigits};
}

// Writes the checksum of the last line of `lines` into the room at `begin`, and ends the line.
void EndLine(size_t begin, std::string& lines) {
  char digits[kChecksumDigits];
  const std::string_view words = std::string_view(lines).substr(begin + kChecksumDigits + 1);
  lines.replace(begin, kChecksumDigits, ChecksumOf(words, digits));
  lines += '\n';
}

void AppendLine(std::string_view word, std::string_view rest, std::string& lines) {
  const size_t begin = lines.size();
  // Reserves at once: without memory no part of a line is left.
  lines.reserve(begin + kChecksumDigits + 1 + word.size() + 1 + rest.size() + 1);
  lines.append(kChecksumDigits + 1, ' ');
  lines.append(word).append(1, ' ').append(rest);
  EndLine(begin, lines);
}

// Returns the words of a line, or nothing if its checksum does not match.
std::optional<std::string_view> CheckedWords(std::string_view line) {
  if (line.size() <= kChecksumDigits || line[kChecksumDigits] != ' ') return std::nullopt;
  char digits[kChecksumDigits];
  const std::string_view words = line.substr(kChecksumDigits + 1);
  if (line.substr(0, kChecksumDigits) != ChecksumOf(words, digits)) return std::nullopt;
  return words;
}

class SpoolReader {
 public:
  // `line` has no line end.
  void Read(std::string_view line, int number) {
    const auto words = CheckedWords(line);
    const std::string problem = words.has_value() ? Take(*words) : "its checksum does not agree";
    if (problem.empty()) return;
    content_.damaged_bytes += static_cast<int64_t>(line.size()) + 1;
    if (content_.damage.empty()) content_.damage = fmt::format("line {}: {}", number, problem);
  }

  void ReadCutOff(std::string_view line, int number) {
    if (line.empty()) return;
    content_.damaged_bytes += static_cast<int64_t>(line.size());
    if (content_.damage.empty()) content_.damage = fmt::format("line {} is cut off", number);
  }

  Result<SpoolContent> Done() && {
    if (has_tag_) return std::move(content_);
    return DataLoss(fmt::format("no line names the tag of its problems; {}",
                                content_.damage.empty() ? "it is cut off" : content_.damage));
  }

 private:
  // Describes the first damaged line; empty if there is none.
  std::string Take(std::string_view rest) {
    const std::string_view word = NextWord(rest);
    if (word == "problem") return TakeProblem(rest);
    if (word == "lost") return TakeLoss(rest);
    if (word == "process") return TakeProcess(rest);
    const auto text = Unescaped(rest);
    if (!text.has_value()) return "its text is not escaped as %XX";
    if (word == "tag") {
      has_tag_ = true;
      content_.header.tag = *text;
    } else if (word == "database") {
      content_.header.database = *text;
    } else if (word == "run") {
      content_.header.run = *text;
    } else {
      return fmt::format("'{}' is no word of this version", Excerpt(word));
    }
    return "";
  }

  std::string TakeProblem(std::string_view text) {
    auto problem = ParseProblem(text);
    if (!problem.ok()) return problem.error().message();
    content_.problems.push_back(*std::move(problem));
    return "";
  }

  std::string TakeLoss(std::string_view rest) {
    const auto count = WholeNumber(NextWord(rest));
    const auto reason = Unescaped(rest);
    if (!count.has_value() || !reason.has_value()) return "it does not tell how many were lost";
    content_.losses.push_back({*count, *reason});
    return "";
  }

  std::string TakeProcess(std::string_view rest) {
    const auto process = WholeNumber(NextWord(rest));
    const auto started = WholeNumber(NextWord(rest));
    const auto program = Unescaped(rest);
    if (!process || !started || !program) return "it does not name a process";
    content_.header.process = *process;
    content_.header.started_unix_ns = *started;
    content_.header.program = *program;
    return "";
  }

  SpoolContent content_;
  bool has_tag_ = false;
};

// Returns the next line without its end. `has_end` is false if the line has none.
std::string_view NextLine(std::string_view& content, bool& has_end) {
  const size_t end = content.find('\n');
  has_end = end != std::string_view::npos;
  const std::string_view line = content.substr(0, end);
  content.remove_prefix(has_end ? end + 1 : content.size());
  return line;
}

}  // namespace

std::string Text(const SpoolHeader& header) {
  std::string lines = fmt::format("{}{}\n", kMagic, kVersion);
  AppendLine("database", Escaped(header.database), lines);
  AppendLine("tag", Escaped(header.tag), lines);
  AppendLine(
      "process",
      fmt::format("{} {} {}", header.process, header.started_unix_ns, Escaped(header.program)),
      lines);
  if (!header.run.empty()) AppendLine("run", Escaped(header.run), lines);
  return lines;
}

void AppendProblemLine(std::string_view problem, std::string& lines) {
  AppendLine("problem", problem, lines);
}

std::string LossLine(const SpoolLoss& loss) {
  std::string line;
  AppendLossLine(loss.count, loss.reason, line);
  return line;
}

void AppendLossLine(int64_t count, std::string_view reason, std::string& lines) {
  const size_t begin = lines.size();
  lines.append(kChecksumDigits + 1, ' ').append("lost ");
  lines.append(fmt::format_int(count).c_str()).append(1, ' ');
  AppendEscaped(reason, lines);
  EndLine(begin, lines);
}

Result<SpoolContent> ParseSpool(std::string_view content) {
  bool has_end = false;
  std::string_view first = NextLine(content, has_end);
  if (!first.starts_with(kMagic) || !has_end) {
    return DataLoss("it does not begin as a problem spool does");
  }
  first.remove_prefix(kMagic.size());
  if (first != kVersion) {
    return Unsupported(fmt::format("it has version {}, and this attune reads version {}",
                                   Excerpt(first), kVersion));
  }
  SpoolReader reader;
  for (int number = 2; !content.empty(); ++number) {
    const std::string_view line = NextLine(content, has_end);
    if (has_end) {
      reader.Read(line, number);
    } else {
      reader.ReadCutOff(line, number);
    }
  }
  return std::move(reader).Done();
}

}  // namespace attune
