#include "attune/trial/candidate.h"

#include <charconv>

#include <fmt/format.h>

namespace attune {
namespace {

bool IsSolverNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
}

Status CheckSolverName(std::string_view name) {
  if (name.find('.') == std::string_view::npos || name.front() == '.' || name.back() == '.') {
    return InvalidArgument(
        fmt::format("Solver name '{}' is not of the form backend.solver.", name));
  }
  for (const char c : name) {
    if (!IsSolverNameCharacter(c)) {
      return InvalidArgument(
          fmt::format("Solver name '{}' has a character outside [a-z0-9_.-].", name));
    }
  }
  return Status::Ok();
}

}  // namespace

std::string Text(const SolverId& id) { return fmt::format("{}@{}", id.name, id.version); }

std::string Text(const Candidate& candidate) {
  return fmt::format("{}{{{}}}", Text(candidate.solver), Text(candidate.config));
}

Result<Candidate> ParseCandidate(std::string_view text) {
  const size_t at = text.find('@');
  const size_t open = text.find('{', at == std::string_view::npos ? 0 : at);
  if (at == 0 || at == std::string_view::npos || open == std::string_view::npos ||
      text.back() != '}') {
    return InvalidArgument(fmt::format(
        "Candidate '{}' is not of the form backend.solver@version{{key=value,...}}.", text));
  }
  Candidate candidate;
  candidate.solver.name = std::string(text.substr(0, at));
  ATTUNE_RETURN_IF_ERROR(CheckSolverName(candidate.solver.name));
  const std::string_view version = text.substr(at + 1, open - at - 1);
  const auto [end, error] =
      std::from_chars(version.data(), version.data() + version.size(), candidate.solver.version);
  if (error != std::errc() || end != version.data() + version.size() ||
      candidate.solver.version < 1) {
    return InvalidArgument(fmt::format(
        "Candidate '{}' has a version ('{}') that is not a positive integer.", text, version));
  }
  auto config = ParseConfig(text.substr(open + 1, text.size() - open - 2));
  if (!config.ok()) return config.error().WithContext(fmt::format("Candidate '{}'", text));
  candidate.config = std::move(*config);
  return candidate;
}

}  // namespace attune
