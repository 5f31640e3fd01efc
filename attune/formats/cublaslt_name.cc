#include "attune/formats/cublaslt_name.h"

#include <charconv>
#include <cstdint>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace attune {
namespace {

constexpr std::string_view kPrefix = "Gemm_Cublaslt";
constexpr std::string_view kSolver = "cuda.cublaslt-gemm";
// The library defines the meaning of the fields; this version of our solver passes them unchanged.
constexpr int kSolverVersion = 1;

// A field of the name, in its order, with its parameter of the candidate.
struct Field {
  std::string_view word;
  std::string_view parameter;
  int bits;  // Width of the library's attribute.
  bool is_signed;
};
constexpr Field kFields[] = {{"id", "id", 32, true},           {"tile", "tile", 32, false},
                             {"stages", "stages", 32, false},  {"splitk", "split_k", 32, true},
                             {"red", "reduction", 32, false},  {"swizzle", "swizzle", 32, false},
                             {"custom", "custom", 32, false},  {"inner", "inner", 16, false},
                             {"cluster", "cluster", 16, false}};

// A config holds the bits of an attribute as a number without a sign, as the library is asked for
// them; the name of a signed one has its sign.
int64_t InName(const Field& field, int64_t value) {
  const bool has_sign_bit = value > std::numeric_limits<int32_t>::max();
  return field.is_signed && has_sign_bit ? value - (int64_t{1} << field.bits) : value;
}
int64_t InConfig(const Field& field, int64_t value) {
  return value < 0 ? value + (int64_t{1} << field.bits) : value;
}

// Cuts "_<word>_<number>" off the front of `rest`.
std::optional<int64_t> TakeNumber(std::string_view word, std::string_view& rest) {
  const std::string begin = fmt::format("_{}_", word);
  if (!rest.starts_with(begin)) return std::nullopt;
  rest.remove_prefix(begin.size());
  int64_t value = 0;
  const auto [stop, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (error != std::errc()) return std::nullopt;
  rest.remove_prefix(static_cast<size_t>(stop - rest.data()));
  return value;
}

}  // namespace

std::optional<std::string> CublasLtNameOf(const Candidate& candidate) {
  if (candidate.solver != SolverId{std::string(kSolver), kSolverVersion} ||
      candidate.config.size() != std::size(kFields)) {
    return std::nullopt;
  }
  std::string name(kPrefix);
  for (const Field& field : kFields) {
    const auto found = candidate.config.find(field.parameter);
    if (found == candidate.config.end()) return std::nullopt;
    const int64_t* const value = std::get_if<int64_t>(&found->second);
    if (value == nullptr || *value < 0 || *value >= (int64_t{1} << field.bits)) return std::nullopt;
    name += fmt::format("_{}_{}", field.word, InName(field, *value));
  }
  return name;
}

std::optional<Candidate> ParseCublasLtName(std::string_view name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  std::string_view rest = name.substr(kPrefix.size());
  Candidate candidate{{std::string(kSolver), kSolverVersion}, {}};
  for (const Field& field : kFields) {
    const auto value = TakeNumber(field.word, rest);
    if (!value || *value < std::numeric_limits<int32_t>::min()) return std::nullopt;
    candidate.config[std::string(field.parameter)] = InConfig(field, *value);
  }
  // With a leftover, a leading zero, a sign or a number out of range, the canonical name differs.
  if (CublasLtNameOf(candidate) != name) return std::nullopt;
  return candidate;
}

std::string SolutionText(const Candidate& candidate) {
  return CublasLtNameOf(candidate).value_or(Text(candidate));
}

Result<Candidate> ParseSolution(std::string_view solution) {
  if (auto candidate = ParseCublasLtName(solution)) return *std::move(candidate);
  return ParseCandidate(solution);
}

}  // namespace attune
