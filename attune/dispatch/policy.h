// What to do for a shape that nobody has tuned, and which candidates may take part.
#pragma once

#include <optional>
#include <string_view>

namespace attune {

// In every one of them a call is served at once, but for kInline.
enum class MissPolicy {
  kNever,     // Nothing else happens.
  kRecord,    // The problem is noted, to be tuned off line.
  kDeferred,  // The problem is tuned in the background and its plan swapped.
  kInline,    // The problem is tuned first: the call waits.
};
std::string_view Name(MissPolicy policy);  // "never", "record", "deferred", "inline".
std::optional<MissPolicy> ParseMissPolicy(std::string_view name);

// How much a miss may do in the thread of its call.
enum class Haste {
  // Nothing is compiled, but for a forced choice. Where nothing is ready, what only has to be
  // created or loaded serves, then the fallback.
  kAtOnce,
  kUnlessStuck,  // As kAtOnce, but compiles where nothing at all could serve.
  kPatient,      // Whatever the preferred option takes.
};

enum class Scope {
  kAll,
  kDynamic,  // Solvers of which one build serves every size.
  kLoaded,   // Candidates that need no build and no long creation now.
};
std::string_view Name(Scope scope);  // "all", "dynamic", "loaded".

// A policy and a scope that stand for one find mode of MIOpen.
struct Preset {
  MissPolicy policy = MissPolicy::kDeferred;
  Scope scope = Scope::kAll;

  friend bool operator==(const Preset&, const Preset&) = default;
};
// By the name of the mode in any case, or by its number: normal (1), fast (2), hybrid (3),
// dynamic_hybrid (5), trust_verify (6), trust_verify_full (7). docs/serving.md has the table and
// says where the two differ.
std::optional<Preset> ParsePreset(std::string_view name);

}  // namespace attune
