#include "attune/tunable/results_storage.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "attune/base/file.h"
#include "attune/formats/cublaslt_name.h"

namespace attune {
namespace {

// Lines of one append; more are worth a rewrite, which looks for equal lines faster.
constexpr size_t kMaxAppended = 16;

std::optional<size_t> FindSection(const ResultsFile& file, const std::vector<Validator>& validators,
                                  const TunableIdentity& here) {
  const bool is_ours = IsSectionOf(validators, here);
  for (size_t i = file.sections.size(); i-- > 0;) {
    if (file.sections[i] == validators || (is_ours && IsSectionOf(file.sections[i], here))) {
      return i;
    }
  }
  return std::nullopt;
}

// True if `section` has a result of the same names and problem as one of `lines`.
bool HasAny(const ResultsFile& file, size_t section, const std::vector<ResultLine>& lines) {
  const auto same = [](const ResultLine& a, const ResultLine& b) {
    return a.key == b.key && a.problem_text == b.problem_text;
  };
  return std::ranges::any_of(file.lines, [&](const FileLine& other) {
    return other.kind == FileLineKind::kResult && other.section == section &&
           std::ranges::any_of(lines,
                               [&](const ResultLine& line) { return same(line, other.result); });
  });
}

// The bytes that put `group` at the end of the file, or nothing if they belong elsewhere.
std::optional<std::string> AppendableText(const ResultsFile& file, const ResultGroup& group,
                                          const TunableIdentity& here) {
  std::string text;
  const auto section = FindSection(file, group.validators, here);
  if (!section) {
    for (const Validator& validator : group.validators) text += ValidatorLine(validator) + "\n";
  } else if (*section + 1 != file.sections.size() || group.lines.size() > kMaxAppended ||
             HasAny(file, *section, group.lines)) {
    return std::nullopt;
  }
  for (const ResultLine& line : group.lines) {
    text += Text(line) + "\n";
  }
  return text;
}

void PutGroup(const ResultGroup& group, const TunableIdentity& here, ResultsFile& file) {
  auto section = FindSection(file, group.validators, here);
  if (!section) section = AddSection(group.validators, file);
  PutResults(group.lines, *section, file);
}

// Why a result of this section does not hold here; empty if it does.
std::string RejectionOf(const SectionVerdict& section, const ResultLine& line,
                        const TunableIdentity& here) {
  if (section.rejected()) return section.rejection;
  const auto candidate = ParseSolution(line.solution);
  return candidate.ok() ? JudgeResult(section, *candidate, here) : std::string();
}

}  // namespace

LoadReport LoadResults(std::string_view content, const TunableIdentity& here, ResultTable& table) {
  const ResultsFile file = ParseResultsFile(content);
  LoadReport report;
  std::vector<SectionVerdict> verdicts;
  std::vector<std::shared_ptr<const std::vector<Validator>>> origins;
  for (const std::vector<Validator>& validators : file.sections) {
    verdicts.push_back(JudgeSection(validators, here));
    const bool is_here = validators.empty() || IsSectionOf(validators, here);
    origins.push_back(is_here ? nullptr
                              : std::make_shared<const std::vector<Validator>>(validators));
    for (const ValidatorVerdict& verdict : verdicts.back().validators) {
      if (!verdict.agrees) report.differences.push_back(verdict);
    }
  }
  for (size_t i = 0; i < file.lines.size(); ++i) {
    const FileLine& line = file.lines[i];
    const auto number = static_cast<int64_t>(i + 1);
    if (line.kind == FileLineKind::kUnreadable) report.unreadable.push_back({number, line.reason});
    if (line.kind != FileLineKind::kResult) continue;
    auto result = MakeTunableResult(line.result);
    if (!result.ok()) {
      report.unreadable.push_back({number, result.error().message()});
      continue;
    }
    std::string rejection = RejectionOf(verdicts[line.section], line.result, here);
    if (!rejection.empty()) {
      table.Reject(*result, rejection);
      report.rejected.push_back({number, std::move(rejection)});
      continue;
    }
    result->origin = origins[line.section];
    ++(table.Add(*std::move(result)) ? report.accepted : report.duplicates);
  }
  return report;
}

Status SaveResults(const std::filesystem::path& path, std::span<const ResultGroup> groups,
                   const TunableIdentity& here, Durability durability) {
  ATTUNE_ASSIGN_OR_RETURN(LockedFile locked, LockedFile::Open(path));
  ATTUNE_ASSIGN_OR_RETURN(const std::string content, locked.Read());
  ResultsFile file = ParseResultsFile(content);
  if (groups.size() == 1) {
    if (const auto text = AppendableText(file, groups.front(), here)) {
      return locked.Append(*text, durability);
    }
  }
  for (const ResultGroup& group : groups) PutGroup(group, here, file);
  return std::move(locked).Replace(Text(file));
}

Status MergeResultsFiles(std::span<const std::filesystem::path> sources,
                         std::span<const std::filesystem::path> destinations) {
  // In order of appearance; the first of equal lines of a group stays.
  std::vector<ResultGroup> groups;
  for (const std::filesystem::path& source : sources) {
    ATTUNE_ASSIGN_OR_RETURN(const std::string content, ReadFile(source));
    const ResultsFile file = ParseResultsFile(content);
    for (const FileLine& line : file.lines) {
      if (line.kind != FileLineKind::kResult) continue;
      const auto& validators = file.sections[line.section];
      auto group = std::ranges::find(groups, validators, &ResultGroup::validators);
      if (group == groups.end()) group = groups.insert(groups.end(), {validators, {}});
      group->lines.push_back(line.result);
    }
  }
  ResultsFile merged = ParseResultsFile("");
  for (const ResultGroup& group : groups) {
    PutResults(group.lines, AddSection(group.validators, merged), merged);
  }
  const std::string content = Text(merged);
  Status status;
  for (const std::filesystem::path& destination : destinations) {
    Status written = WriteFileAtomically(destination, content);
    if (status.ok()) status = std::move(written);
  }
  return status;
}

}  // namespace attune
