// Golden versions: results that were looked at and approved, and never change after that.
// docs/formats/sessions.md.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/problem/problem.h"
#include "attune/problem/target.h"
#include "attune/record/select.h"
#include "attune/trial/candidate.h"
#include "attune/trial/trial.h"

namespace attune {

struct GoldenVersion {
  int64_t id = 0;  // Given by the store.
  std::string name;
  std::string base;  // The name of the version that it begins from; empty for the first.
  std::string created_by;
  int64_t created_unix_ns = 0;
  std::string approved_by;        // Empty while it is a draft.
  int64_t approved_unix_ns = 0;   // 0 while it is a draft.
  std::string withdrawn_by;       // Empty unless it was rolled back.
  int64_t withdrawn_unix_ns = 0;  // 0 unless it was rolled back.
  std::string withdrawn_because;

  bool is_approved() const { return approved_unix_ns != 0; }
  bool is_withdrawn() const { return withdrawn_unix_ns != 0; }

  friend bool operator==(const GoldenVersion&, const GoldenVersion&) = default;
};

// The key of an entry, by which versions or sessions are compared. Times with warm and with cold
// caches answer different questions.
struct GoldenQuestion {
  std::string target;  // Their texts.
  std::string problem;
  std::optional<CacheState> cache;

  friend auto operator<=>(const GoldenQuestion&, const GoldenQuestion&) = default;
};

// Reason for an entry.
enum class GoldenReason {
  kNew,      // Nothing stood for its problem on its target.
  kFaster,   // Significantly faster than the incumbent.
  kInvalid,  // The incumbent rests on a solver that has changed.
  kForced,   // Forced by a user, regardless of the incumbent.
};
std::string_view Name(GoldenReason reason);
Result<GoldenReason> ParseGoldenReason(std::string_view name);

// The best candidate for a problem on a target with caches in one state. An entry is never changed:
// a later one of the same version replaces it, and one of a later version replaces that of its
// base.
struct GoldenEntry {
  int64_t id = 0;  // Given by the store.
  Problem problem;
  Target target;
  Candidate candidate;
  std::string set_id;   // The evidence, in the same database.
  std::string session;  // By name, that measured it.
  // Cache state of its evidence, which the store reads there; empty if that is not in the database.
  std::optional<CacheState> cache;
  double median_ns = 0;
  double low_ns = 0;  // Confidence interval of the median.
  double high_ns = 0;
  GoldenReason reason = GoldenReason::kNew;
  std::string added_by;
  int64_t added_unix_ns = 0;

  friend bool operator==(const GoldenEntry&, const GoldenEntry&) = default;
};

// 1 to kMaxSessionNameBytes printable ASCII characters, not blanks alone.
Status ValidateGoldenName(std::string_view name);

GoldenQuestion QuestionOf(const GoldenEntry& entry);

// "warm", "cold", "rotating", or "unknown".
std::string_view CacheName(const GoldenEntry& entry);

// A fresh result compared to the incumbent entry.
enum class GoldenVerdict {
  kTake,  // It becomes an entry, for `reason`.
  kSame,  // It equals the incumbent.
  kKeep,  // The incumbent stays: the fresh result is not significantly faster.
};
struct GoldenDecision {
  GoldenVerdict verdict = GoldenVerdict::kTake;
  GoldenReason reason = GoldenReason::kNew;
};

// `standing` answers the same question, and is null if nothing does; `is_valid`: its solver is
// unchanged. Two days of one machine differ by more than two candidates do, so a faster result must
// stay so when the whole intervals are compared, beyond the margin.
GoldenDecision Decide(const GoldenEntry* standing, bool is_valid, const Choice& fresh, bool force,
                      const SelectOptions& options);

// The version that was rolled back among `version` and those that it begins from, the nearest one;
// null if there is none.
const GoldenVersion* FindWithdrawn(std::span<const GoldenVersion> versions,
                                   const GoldenVersion& version);

// Those that begin from `version`, or from one that does: once it is rolled back, nothing is added
// to them, approved or exported of them any more.
std::vector<const GoldenVersion*> FindDependents(std::span<const GoldenVersion> versions,
                                                 const GoldenVersion& version);

// The newest version that another one may begin from: approved, and neither it nor any version that
// it begins from was rolled back. Null if there is none.
const GoldenVersion* FindNewestBase(std::span<const GoldenVersion> versions);

// The newest draft that can still be approved; null if there is none.
const GoldenVersion* FindOpenDraft(std::span<const GoldenVersion> versions);

// How a new version can begin, a sentence with the command: from the newest base; if there is none,
// after the open draft was approved or given up; if there is none of these either, from nothing.
std::string HowToBegin(std::span<const GoldenVersion> versions);

// How an entry of one version compares with that of another for the same problem and target.
struct GoldenChange {
  const GoldenEntry* before = nullptr;  // Null: new.
  const GoldenEntry* after = nullptr;   // Null: gone.
  // "new", "gone", "faster", "slower", by intervals that do not touch, "changed" (another candidate
  // or other evidence), or "same".
  std::string_view word;
};

// One for each question of either version, in order. Borrows both.
std::vector<GoldenChange> DiffGolden(std::span<const GoldenEntry> before,
                                     std::span<const GoldenEntry> after);

}  // namespace attune
