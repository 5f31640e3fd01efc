#include "attune/session/golden.h"

#include <array>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "attune/session/session.h"

namespace attune {
namespace {

constexpr std::array<std::pair<GoldenReason, std::string_view>, 4> kReasons = {{
    {GoldenReason::kNew, "new"},
    {GoldenReason::kFaster, "faster"},
    {GoldenReason::kInvalid, "invalid"},
    {GoldenReason::kForced, "forced"},
}};

std::string_view WordFor(const GoldenEntry* before, const GoldenEntry* after) {
  if (before == nullptr) return "new";
  if (after == nullptr) return "gone";
  if (before->set_id == after->set_id && before->candidate == after->candidate) return "same";
  if (after->high_ns < before->low_ns) return "faster";
  if (after->low_ns > before->high_ns) return "slower";
  return "changed";
}

// The newest that is approved, or is not, of those of which nothing was rolled back.
const GoldenVersion* FindNewest(std::span<const GoldenVersion> versions, bool is_approved) {
  for (size_t i = versions.size(); i > 0; --i) {
    const GoldenVersion& version = versions[i - 1];
    if (version.is_approved() != is_approved) continue;
    if (FindWithdrawn(versions, version) == nullptr) return &version;
  }
  return nullptr;
}

}  // namespace

std::string_view Name(GoldenReason reason) { return kReasons[static_cast<size_t>(reason)].second; }

Result<GoldenReason> ParseGoldenReason(std::string_view name) {
  for (const auto& [reason, its_name] : kReasons) {
    if (its_name == name) return reason;
  }
  return InvalidArgument(fmt::format("'{}' is no reason of a golden entry.", name));
}

GoldenQuestion QuestionOf(const GoldenEntry& entry) {
  return {Text(entry.target), Text(entry.problem), entry.cache};
}

std::string_view CacheName(const GoldenEntry& entry) {
  return entry.cache.has_value() ? Name(*entry.cache) : "unknown";
}

Status ValidateGoldenName(std::string_view name) {
  if (ValidateSessionName(name).ok()) return Status::Ok();
  return InvalidArgument(fmt::format(
      "A golden version's name has 1 to {} printable ASCII characters, not blanks alone; "
      "this one has {} bytes.",
      kMaxSessionNameBytes, name.size()));
}

GoldenDecision Decide(const GoldenEntry* standing, bool is_valid, const Choice& fresh, bool force,
                      const SelectOptions& options) {
  if (standing == nullptr) return {GoldenVerdict::kTake, GoldenReason::kNew};
  if (standing->set_id == fresh.set_id && standing->candidate == fresh.candidate) {
    return {GoldenVerdict::kSame, standing->reason};
  }
  if (!is_valid) return {GoldenVerdict::kTake, GoldenReason::kInvalid};
  if (fresh.measurement.high_ns < standing->low_ns * (1 - options.margin)) {
    return {GoldenVerdict::kTake, GoldenReason::kFaster};
  }
  if (force) return {GoldenVerdict::kTake, GoldenReason::kForced};
  return {GoldenVerdict::kKeep, standing->reason};
}

const GoldenVersion* FindWithdrawn(std::span<const GoldenVersion> versions,
                                   const GoldenVersion& version) {
  std::string name = version.name;
  // A version begins from an older one, so that the way back ends.
  for (size_t i = versions.size(); i > 0; --i) {
    const GoldenVersion& earlier = versions[i - 1];
    if (earlier.name != name) continue;
    if (earlier.is_withdrawn()) return &earlier;
    name = earlier.base;
  }
  return nullptr;
}

std::vector<const GoldenVersion*> FindDependents(std::span<const GoldenVersion> versions,
                                                 const GoldenVersion& version) {
  std::set<std::string_view> names = {version.name};
  std::vector<const GoldenVersion*> dependents;
  // A version begins from an older one, which comes before it.
  for (const GoldenVersion& later : versions) {
    if (later.base.empty() || !names.contains(later.base)) continue;
    names.insert(later.name);
    dependents.push_back(&later);
  }
  return dependents;
}

const GoldenVersion* FindNewestBase(std::span<const GoldenVersion> versions) {
  return FindNewest(versions, true);
}

const GoldenVersion* FindOpenDraft(std::span<const GoldenVersion> versions) {
  return FindNewest(versions, false);
}

std::string HowToBegin(std::span<const GoldenVersion> versions) {
  if (const GoldenVersion* base = FindNewestBase(versions)) {
    return fmt::format("'attune golden create NAME --base {}' begins the next one.", base->name);
  }
  if (const GoldenVersion* draft = FindOpenDraft(versions)) {
    return fmt::format(
        "The draft '{0}' comes first: 'attune golden approve {0}' makes it a base, and 'attune "
        "golden rollback {0} --reason WHY' gives it up.",
        draft->name);
  }
  return "'attune golden create NAME' begins anew, without a base.";
}

std::vector<GoldenChange> DiffGolden(std::span<const GoldenEntry> before,
                                     std::span<const GoldenEntry> after) {
  std::map<GoldenQuestion, GoldenChange> changes;
  for (const GoldenEntry& entry : before) changes[QuestionOf(entry)].before = &entry;
  for (const GoldenEntry& entry : after) changes[QuestionOf(entry)].after = &entry;
  std::vector<GoldenChange> list;
  for (auto& [question, change] : changes) {
    change.word = WordFor(change.before, change.after);
    list.push_back(change);
  }
  return list;
}

}  // namespace attune
