#include "attune/formats/miopen/solver_candidate.h"

#include <charconv>
#include <string_view>

#include <fmt/format.h>

namespace attune::miopen {
namespace {

constexpr std::string_view kSolverName = "miopen.conv";
constexpr std::string_view kSearchName = "miopen.conv-search";
constexpr int kSolverVersion = 1;

bool IsLetter(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }
bool IsPlain(char c) {
  return IsLetter(c) || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
}

std::string WordOf(std::string_view text) {
  std::string word;
  if (!text.empty() && !IsLetter(text.front())) word += '_';
  for (const char c : text) {
    if (IsPlain(c)) {
      word += c;
    } else if (c == ',') {
      word += '+';
    } else {
      fmt::format_to(std::back_inserter(word), ":{:02x}", static_cast<unsigned char>(c));
    }
  }
  return word;
}

std::optional<std::string> TextOf(std::string_view word) {
  if (word.starts_with('_')) word.remove_prefix(1);
  std::string text;
  for (size_t i = 0; i < word.size(); ++i) {
    if (word[i] == '+') {
      text += ',';
    } else if (word[i] != ':') {
      text += word[i];
    } else {
      unsigned int byte = 0;
      const std::string_view digits = word.substr(i + 1, 2);
      const auto [stop, error] =
          std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
      if (error != std::errc() || stop != digits.data() + 2) return std::nullopt;
      text += static_cast<char>(byte);
      i += 2;
    }
  }
  return text;
}

}  // namespace

Candidate SearchedCandidateOf(const SolverChoice& choice) {
  Candidate candidate = CandidateOf(choice);
  candidate.solver.name = kSearchName;
  return candidate;
}

Candidate CandidateOf(const SolverChoice& choice) {
  Candidate candidate;
  candidate.solver = {std::string(kSolverName), kSolverVersion};
  candidate.config.emplace("solver", WordOf(choice.solver));
  if (!choice.params.empty()) candidate.config.emplace("params", WordOf(choice.params));
  return candidate;
}

std::optional<SolverChoice> SolverChoiceOf(const Candidate& candidate) {
  const auto& [name, version] = candidate.solver;
  if ((name != kSolverName && name != kSearchName) || version != kSolverVersion) {
    return std::nullopt;
  }
  SolverChoice choice;
  for (const auto& [key, value] : candidate.config) {
    const auto* const word = std::get_if<std::string>(&value);
    const auto text = word == nullptr ? std::nullopt : TextOf(*word);
    if (!text.has_value()) return std::nullopt;
    if (key == "solver") {
      choice.solver = *text;
    } else if (key == "params") {
      choice.params = *text;
    } else {
      return std::nullopt;
    }
  }
  if (choice.solver.empty()) return std::nullopt;
  return choice;
}

}  // namespace attune::miopen
