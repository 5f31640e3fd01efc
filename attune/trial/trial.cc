#include "attune/trial/trial.h"

#include <array>
#include <utility>

namespace attune {
namespace {

template <class Enum, size_t N>
std::string_view NameIn(const std::array<std::pair<Enum, std::string_view>, N>& names, Enum value) {
  for (const auto& [candidate, name] : names) {
    if (candidate == value) return name;
  }
  return "unknown";
}

template <class Enum, size_t N>
std::optional<Enum> ValueIn(const std::array<std::pair<Enum, std::string_view>, N>& names,
                            std::string_view name) {
  for (const auto& [value, candidate] : names) {
    if (candidate == name) return value;
  }
  return std::nullopt;
}

constexpr std::array<std::pair<FailureKind, std::string_view>, 9> kFailureKinds = {{
    {FailureKind::kNotApplicable, "not_applicable"},
    {FailureKind::kBuildFailed, "build_failed"},
    {FailureKind::kLoadFailed, "load_failed"},
    {FailureKind::kRunFailed, "run_failed"},
    {FailureKind::kWrongResult, "wrong_result"},
    {FailureKind::kOutOfBounds, "out_of_bounds"},
    {FailureKind::kCrashed, "crashed"},
    {FailureKind::kTimedOut, "timed_out"},
    {FailureKind::kOutOfMemory, "out_of_memory"},
}};
constexpr std::array<std::pair<Phase, std::string_view>, 5> kPhases = {{
    {Phase::kBuild, "build"},
    {Phase::kLoad, "load"},
    {Phase::kRun, "run"},
    {Phase::kVerify, "verify"},
    {Phase::kMeasure, "measure"},
}};
constexpr std::array<std::pair<CacheState, std::string_view>, 3> kCacheStates = {{
    {CacheState::kWarm, "warm"},
    {CacheState::kCold, "cold"},
    {CacheState::kRotating, "rotating"},
}};
constexpr std::array<std::pair<TrialRole, std::string_view>, 3> kTrialRoles = {{
    {TrialRole::kQualify, "qualify"},
    {TrialRole::kScreen, "screen"},
    {TrialRole::kFinal, "final"},
}};

}  // namespace

std::string_view Name(FailureKind kind) { return NameIn(kFailureKinds, kind); }
std::optional<FailureKind> ParseFailureKind(std::string_view name) {
  return ValueIn(kFailureKinds, name);
}
std::string_view Name(Phase phase) { return NameIn(kPhases, phase); }
std::optional<Phase> ParsePhase(std::string_view name) { return ValueIn(kPhases, name); }
std::string_view Name(CacheState state) { return NameIn(kCacheStates, state); }
std::optional<CacheState> ParseCacheState(std::string_view name) {
  return ValueIn(kCacheStates, name);
}
std::string_view Name(TrialRole role) { return NameIn(kTrialRoles, role); }
std::optional<TrialRole> ParseTrialRole(std::string_view name) {
  return ValueIn(kTrialRoles, name);
}

}  // namespace attune
