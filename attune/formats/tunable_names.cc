#include "attune/formats/tunable_names.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "attune/ops/gemm/gemm.h"
#include "attune/problem/escaping.h"
#include "attune/problem/other_op.h"

namespace attune {
namespace {

const std::string* Find(const OtherOp& op, const std::string& attribute) {
  const auto found = op.attributes.find(attribute);
  return found == op.attributes.end() ? nullptr : &found->second;
}

// The names of a problem from a TunableOp line that no Gemm can express.
std::optional<TunableOpKey> KeyOfOther(const OtherOp& op) {
  const std::string* const kind = Find(op, "tunableop");
  const std::string* const types = Find(op, "types");
  const std::string* const params = Find(op, "params");
  if (kind == nullptr || types == nullptr || params == nullptr || params->size() < 2) {
    return std::nullopt;
  }
  const auto upper = [](char c) { return c == 'n' || c == 'N' ? 'N' : 'T'; };
  TunableOpKey key;
  key.op = fmt::format("{}_{}_{}{}", *kind, *types, upper((*params)[0]), upper((*params)[1]));
  key.params = *params;
  const auto read = ReadTunableOpLine(key.op + "," + key.params);
  if (!read.has_value() || read->front() != Problem(op)) return std::nullopt;
  return key;
}

TunableOpKey OwnKey(const Problem& problem) {
  return {fmt::format("{}{}", kOwnOperatorPrefix, Escaped(OperatorName(problem))),
          Escaped(Text(problem))};
}

// The text behind `kProblemColumn`, and its offset; nothing if the line has no such column.
struct ProblemText {
  std::string_view escaped;
  size_t offset = 0;
};
std::optional<ProblemText> FindProblemText(std::string_view line) {
  const size_t at = line.rfind(kProblemColumn);
  if (at == std::string_view::npos || at == 0 || line[at - 1] != ',') return std::nullopt;
  const size_t begin = at + kProblemColumn.size();
  return ProblemText{line.substr(begin), begin};
}

Parsed<Problem> ReadEscaped(const ProblemText& text) {
  const auto unescaped = Unescaped(text.escaped);
  if (!unescaped) {
    return ErrorAtOffset(text.offset, "The text after ATTUNE_PROBLEM is not escaped as %XX.");
  }
  auto problem = ReadProblem(*unescaped);
  if (!problem) return ErrorAtOffset(text.offset, problem.error().reason);
  return problem;
}

}  // namespace

TunableOpKey NamesOf(const Problem& problem) {
  if (const Gemm* const gemm = problem.As<Gemm>()) {
    if (auto key = TunableOpKeyOf(*gemm); key.ok()) return *std::move(key);
  }
  if (const OtherOp* const other = problem.As<OtherOp>()) {
    if (auto key = KeyOfOther(*other)) return *std::move(key);
  }
  return OwnKey(problem);
}

Parsed<Problem> ProblemOfNames(const TunableOpKey& key) {
  if (std::string_view(key.op).starts_with(kOwnOperatorPrefix)) {
    const auto text = Unescaped(key.params);
    if (!text) return ErrorAtOffset(key.op.size() + 1, "The problem text is not escaped as %XX.");
    auto problem = ReadProblem(*text);
    if (problem && OwnKey(*problem).op != key.op) {
      return ErrorAtOffset(0, "The operator is not that of the problem text.");
    }
    return problem;
  }
  auto problems = ReadTunableOpLine(fmt::format("{},{}", key.op, key.params));
  if (!problems) return tl::unexpected(problems.error());
  return problems->front();
}

bool SaysEverything(const TunableOpKey& key, const Problem& problem) {
  const auto read = ProblemOfNames(key);
  return read.has_value() && *read == problem;
}

bool IsWildcard(std::string_view params) { return params.find('*') != std::string_view::npos; }

std::string ProblemColumnOf(const Problem& problem) {
  return fmt::format(",{}{}", kProblemColumn, Escaped(Text(problem)));
}

bool IsTunableLine(std::string_view line) {
  return IsTunableOpLine(line) || line.starts_with(kOwnOperatorPrefix);
}

Parsed<NamedProblem> ReadTunableLine(std::string_view line) {
  const size_t first = line.find(',');
  if (first == std::string_view::npos) {
    return ErrorAtOffset(line.size(), "Expected at least two columns: operator and parameters.");
  }
  const size_t second = std::min(line.find(',', first + 1), line.size());
  NamedProblem named;
  named.key.op = line.substr(0, first);
  named.key.params = line.substr(first + 1, second - first - 1);
  const auto text = FindProblemText(line);
  const bool is_wildcard = IsTunableOpLine(named.key.op) && IsWildcard(named.key.params);
  if (!is_wildcard || !text.has_value()) {
    auto of_key = ProblemOfNames(named.key);
    const bool is_own = named.key.op.starts_with(kOwnOperatorPrefix);
    // An escaped problem text has no column numbers in this line.
    if (!of_key && is_own) return ErrorAtOffset(first + 1, of_key.error().reason);
    if (!of_key) return tl::unexpected(of_key.error());
    named.problem = *std::move(of_key);
  }
  if (!text.has_value()) return named;
  auto exact = ReadEscaped(*text);
  if (!exact) return tl::unexpected(exact.error());
  if (!is_wildcard && NamesOf(*exact) != NamesOf(named.problem)) {
    return ErrorAtOffset(
        text->offset, fmt::format("The problem {} contradicts the key {},{}.", Quoted(Text(*exact)),
                                  Quoted(named.key.op), Quoted(named.key.params)));
  }
  named.problem = *std::move(exact);
  return named;
}

}  // namespace attune
