#include "backends/cuda/gemm/inner_product.h"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "attune/ops/gemm/gemm.h"
#include "backends/cuda/layout/in_turns.h"

namespace attune::cuda {
namespace {

constexpr const char* kGemm = "gemm";
constexpr const char* kVersion = "gemm_version";
constexpr const char* kGemmFields = "fields";
constexpr std::string_view kNoFields = "none";

// "<mark> <bytes of the first>\n", then both, one after the other.
constexpr std::string_view kMark = "attune-two-programs";

std::string Framed(const std::string& first, const std::string& second) {
  return fmt::format("{} {}\n{}{}", kMark, first.size(), first, second);
}

std::optional<std::pair<std::string, std::string>> Unframed(std::string_view text) {
  if (!text.starts_with(kMark)) return std::nullopt;
  const size_t end = text.find('\n');
  if (end == std::string_view::npos || end <= kMark.size()) return std::nullopt;
  const std::string_view digits = text.substr(kMark.size() + 1, end - kMark.size() - 1);
  size_t bytes = 0;
  const auto [rest, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bytes);
  const std::string_view both = text.substr(end + 1);
  if (error != std::errc() || rest != digits.data() + digits.size() || bytes > both.size()) {
    return std::nullopt;
  }
  return std::pair(std::string(both.substr(0, bytes)), std::string(both.substr(bytes)));
}

Result<std::string> TextOf(const ParameterValue& value) {
  if (const auto* number = std::get_if<int64_t>(&value)) return fmt::format("{}", *number);
  const auto* word = std::get_if<std::string>(&value);
  if (word != nullptr && word->find_first_of(".:") == std::string::npos) return *word;
  return Unsupported(
      "Configs with reals, or with words that have a point or a colon, are no part "
      "of other configs.");
}

ParameterValue ValueOf(std::string_view text) {
  int64_t number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && rest == text.data() + text.size()) return number;
  return std::string(text);
}

Result<Config> FieldsOf(std::string_view text) {
  Config fields;
  if (text == kNoFields) return fields;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view field = rest.substr(0, rest.find('.'));
    rest.remove_prefix(std::min(field.size() + 1, rest.size()));
    const size_t colon = field.find(':');
    if (colon == std::string_view::npos || !IsParameterName(field.substr(0, colon)) ||
        colon + 1 == field.size()) {
      return Unsupported(fmt::format(
          "'{}' in the fields '{}' of a product is no name and value. Tune the problem again if a "
          "record names it.",
          field, text));
    }
    fields[std::string(field.substr(0, colon))] = ValueOf(field.substr(colon + 1));
  }
  return fields;
}

// Null if there is no such parameter of that type.
template <class T>
const T* Find(const Config& config, std::string_view name) {
  const auto found = config.find(name);
  return found == config.end() ? nullptr : std::get_if<T>(&found->second);
}

// The configs that have a name.
std::vector<Config> Naming(const SolverId& solver, const std::vector<Config>& configs) {
  std::vector<Config> naming;
  for (const Config& config : configs) {
    Result<Config> named = ConfigNaming(solver, config);
    if (named.ok()) naming.push_back(*std::move(named));
  }
  return naming;
}

}  // namespace

Result<Config> ConfigNaming(const SolverId& solver, const Config& config) {
  std::string fields;
  for (const auto& [name, value] : config) {
    ATTUNE_ASSIGN_OR_RETURN(const std::string text, TextOf(value));
    fields += fmt::format("{}{}:{}", fields.empty() ? "" : ".", name, text);
  }
  if (fields.empty()) fields = kNoFields;
  return Config{
      {kGemm, solver.name}, {kVersion, int64_t{solver.version}}, {kGemmFields, std::move(fields)}};
}

std::vector<const Solver*> InnerProducts::Taking(const Gemm& gemm, const Target& target) const {
  std::vector<const Solver*> taking;
  for (const Solver* solver : solvers_) {
    if (solver->IsApplicable(gemm, target).ok()) taking.push_back(solver);
  }
  return taking;
}

Status InnerProducts::IsApplicable(const Gemm& gemm, const Target& target) const {
  Status first = Unsupported("There is no other solver of products.");
  for (const Solver* solver : solvers_) {
    Status status = solver->IsApplicable(gemm, target);
    if (status.ok()) return status;
    if (solver == solvers_.front()) first = std::move(status);
  }
  return first.WithContext("The product inside");
}

Result<Config> InnerProducts::DefaultConfig(const Gemm& gemm, const Target& target) const {
  Status refusal = Unsupported("No other solver computes the product inside.");
  for (const Solver* solver : Taking(gemm, target)) {
    Result<Config> config = solver->DefaultConfig(gemm, target);
    if (config.ok()) config = ConfigNaming(solver->id(), *config);
    if (config.ok()) return config;
    refusal = config.error();
  }
  return refusal;
}

Result<std::vector<Config>> InnerProducts::Configs(const Gemm& gemm, const Target& target) const {
  std::vector<std::vector<Config>> lists;
  for (const Solver* solver : Taking(gemm, target)) {
    // A space that cannot be made concerns its solver only: the others remain.
    const Result<ConfigSpace> space = solver->Space(gemm, target);
    if (!space.ok()) continue;
    std::vector<Config> configs;
    const uint64_t count = std::min<uint64_t>(space->size(), kMostOfSolver);
    for (uint64_t i = 0; i < count; ++i) configs.push_back(space->At(i));
    lists.push_back(Naming(solver->id(), configs));
  }
  std::vector<Config> in_turns = InTurns(std::move(lists));
  if (in_turns.empty()) return Unsupported("No other solver computes the product inside.");
  if (in_turns.size() > kMost) in_turns.resize(kMost);
  return in_turns;
}

Result<InnerProduct> InnerProducts::Named(const Config& config) const {
  const std::string* name = Find<std::string>(config, kGemm);
  const int64_t* version = Find<int64_t>(config, kVersion);
  const std::string* fields = Find<std::string>(config, kGemmFields);
  if (name == nullptr || version == nullptr || fields == nullptr) {
    return Unsupported(
        fmt::format("'{}' names no solver and config of the product inside: '{}' "
                    "and '{}' have to be words, and '{}' an integer.",
                    Text(config), kGemm, kGemmFields, kVersion));
  }
  for (const Solver* solver : solvers_) {
    if (solver->id().name != *name || solver->id().version != *version) continue;
    ATTUNE_ASSIGN_OR_RETURN(Config inner, FieldsOf(*fields));
    return InnerProduct{*solver, std::move(inner)};
  }
  return Unsupported(fmt::format(
      "There is no '{}' of version {} here to compute the product inside with. Tune the problem "
      "again if a record names it.",
      *name, *version));
}

Result<BuildRecipe> InnerProducts::RecipeOf(const Gemm& gemm, const Config& config,
                                            const Target& target) const {
  ATTUNE_ASSIGN_OR_RETURN(const InnerProduct inner, Named(config));
  ATTUNE_RETURN_IF_ERROR(inner.solver.IsApplicable(gemm, target));
  if (!inner.solver.traits().listed_on_device) {
    ATTUNE_ASSIGN_OR_RETURN(const ConfigSpace space, inner.solver.Space(gemm, target));
    if (!space.IndexOf(inner.config).has_value()) {
      return Unsupported(fmt::format(
          "'{}' is no config of {} for the product inside. Tune the problem again if a record "
          "names it.",
          Text(inner.config), inner.solver.id().name));
    }
  }
  return inner.solver.Recipe(gemm, inner.config, target);
}

BuildRecipe Together(const BuildRecipe& outer, const BuildRecipe& inner) {
  if (outer.empty()) return inner;
  if (inner.empty()) return outer;
  assert(outer.compiler == inner.compiler && outer.target == inner.target);
  BuildRecipe both = outer;
  both.source = Framed(outer.source, inner.source);
  both.options = Framed(outer.options, inner.options);
  return both;
}

TwoRecipes Parts(const BuildRecipe& recipe) {
  TwoRecipes parts{recipe, {}};
  const auto sources = Unframed(recipe.source);
  const auto options = Unframed(recipe.options);
  if (!sources.has_value() || !options.has_value()) return parts;
  parts.inner = recipe;
  std::tie(parts.outer.source, parts.inner.source) = *sources;
  std::tie(parts.outer.options, parts.inner.options) = *options;
  return parts;
}

Artifact Together(const Artifact& outer, const Artifact& inner) {
  return {Framed(outer.bytes, inner.bytes)};
}

Result<TwoArtifacts> Parts(const Artifact& artifact) {
  const auto both = Unframed(artifact.bytes);
  if (!both.has_value()) {
    return InvalidArgument(
        fmt::format("What was built ({} bytes) is not of the two programs that this candidate has.",
                    artifact.bytes.size()));
  }
  return TwoArtifacts{{both->first}, {both->second}};
}

}  // namespace attune::cuda
