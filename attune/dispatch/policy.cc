#include "attune/dispatch/policy.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace attune {
namespace {

struct NamedPreset {
  std::string_view name;
  std::string_view number;
  Preset preset;
};

// A hit never tunes again, so what the modes do on a hit needs no column.
constexpr std::array<NamedPreset, 6> kPresets = {{
    {"normal", "1", {MissPolicy::kInline, Scope::kAll}},
    {"fast", "2", {MissPolicy::kNever, Scope::kAll}},
    {"hybrid", "3", {MissPolicy::kInline, Scope::kAll}},
    {"dynamic_hybrid", "5", {MissPolicy::kInline, Scope::kDynamic}},
    {"trust_verify", "6", {MissPolicy::kDeferred, Scope::kDynamic}},
    {"trust_verify_full", "7", {MissPolicy::kDeferred, Scope::kAll}},
}};

}  // namespace

std::string_view Name(MissPolicy policy) {
  switch (policy) {
    case MissPolicy::kNever:
      return "never";
    case MissPolicy::kRecord:
      return "record";
    case MissPolicy::kDeferred:
      return "deferred";
    case MissPolicy::kInline:
      return "inline";
  }
  return "deferred";
}

std::optional<MissPolicy> ParseMissPolicy(std::string_view name) {
  for (const MissPolicy policy :
       {MissPolicy::kNever, MissPolicy::kRecord, MissPolicy::kDeferred, MissPolicy::kInline}) {
    if (name == Name(policy)) return policy;
  }
  return std::nullopt;
}

std::string_view Name(Scope scope) {
  switch (scope) {
    case Scope::kAll:
      return "all";
    case Scope::kDynamic:
      return "dynamic";
    case Scope::kLoaded:
      return "loaded";
  }
  return "all";
}

std::optional<Preset> ParsePreset(std::string_view name) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const NamedPreset& named : kPresets) {
    if (lower == named.name || lower == named.number) return named.preset;
  }
  return std::nullopt;
}

}  // namespace attune
