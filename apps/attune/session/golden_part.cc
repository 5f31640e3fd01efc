#include "apps/attune/session/golden_part.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "attune/session/golden_draft.h"
#include "attune/session/golden_records.h"

namespace attune {
namespace {

// True if `wanted` is the whole text, the device or the architecture of `target`.
bool IsMeant(const Target& target, const std::string& wanted) {
  return wanted == Text(target) || wanted == target.device || wanted == target.arch;
}

// True if `wanted` has the form of a target, known or not: its text, or a compiler's name of a GPU
// ("sm_90", "gfx90a:xnack-").
bool IsSpelledAsTarget(const std::string& wanted) {
  const std::string arch = wanted.substr(0, wanted.find(':'));
  const auto is_arch = [&arch](std::string_view prefix, std::string_view digits) {
    return arch.size() > prefix.size() && arch.starts_with(prefix) &&
           arch.find_first_not_of(digits, prefix.size()) == std::string::npos;
  };
  return ParseTarget(wanted).ok() || is_arch("sm_", "0123456789") ||
         is_arch("gfx", "0123456789abcdef");
}

// The one target of the entries that matches `wanted`. kNotFound if no entry has it,
// kInvalidArgument if `wanted` has not the form of a target or matches several; both list the
// targets of the entries.
Result<Target> TargetOf(const std::vector<GoldenEntry>& entries, const std::string& wanted) {
  std::vector<Target> meant;
  std::string known;
  std::vector<Target> seen;
  for (const GoldenEntry& entry : entries) {
    if (std::find(seen.begin(), seen.end(), entry.target) != seen.end()) continue;
    seen.push_back(entry.target);
    known += fmt::format("{}{}", known.empty() ? "" : ", ", Text(entry.target));
    if (wanted.empty() || IsMeant(entry.target, wanted)) meant.push_back(entry.target);
  }
  if (meant.size() == 1) return meant.front();
  const std::string what =
      wanted.empty()  ? "Several targets are in this version"
      : meant.empty() ? fmt::format("No target of this version is '{}'", Printable(wanted))
                      : fmt::format("Several targets of this version are '{}'", Printable(wanted));
  const std::string message = fmt::format(
      "{}; it has {}. Name one with --target, by its text, its device or its architecture.", what,
      known);
  return meant.empty() && IsSpelledAsTarget(wanted) ? NotFound(message) : InvalidArgument(message);
}

// A package or export needs exactly one result for each problem.
Status CheckOneForEachProblem(const std::vector<GoldenEntry>& entries, const GoldenPart& part) {
  if (entries.empty()) {
    return InvalidArgument(
        fmt::format("The version has nothing with {} caches for this target.", part.cache));
  }
  std::set<std::string> problems;
  for (const GoldenEntry& entry : entries) {
    if (problems.insert(Text(entry.problem)).second) continue;
    std::set<std::string_view> states;
    for (const GoldenEntry& each : entries) states.insert(CacheName(each));
    return InvalidArgument(fmt::format(
        "The version has results of the same problems with caches in several states: {}. Name one "
        "with --cache.",
        fmt::join(states, ", ")));
  }
  return Status::Ok();
}

}  // namespace

Result<OpenedGolden> OpenGolden(Application& application, const std::string& name) {
  OpenedGolden opened;
  ATTUNE_RETURN_IF_ERROR(application.StoreToRead().status());
  if (application.golden() == nullptr) {
    return NotFound("There are no golden versions yet. 'attune golden create NAME' makes one.");
  }
  ATTUNE_ASSIGN_OR_RETURN(opened.version, application.golden()->Find(name));
  ATTUNE_ASSIGN_OR_RETURN(opened.entries, application.golden()->Entries(opened.version.id));
  return opened;
}

CLI::Option* AddGoldenCacheOption(CLI::App& verb, std::string& cache) {
  return verb
      .add_option("--cache", cache,
                  "Results with caches in this state alone; needed if a problem has several")
      ->check(CLI::IsMember({"warm", "cold", "rotating"}));
}

Result<GoldenForTarget> OpenGoldenFor(Application& application, const std::string& name,
                                      const GoldenPart& part) {
  ATTUNE_ASSIGN_OR_RETURN(OpenedGolden opened, OpenGolden(application, name));
  ATTUNE_ASSIGN_OR_RETURN(const auto versions, application.golden()->List());
  if (const GoldenVersion* withdrawn = FindWithdrawn(versions, opened.version)) {
    return FailedPrecondition(
        withdrawn->name == opened.version.name
            ? fmt::format("Golden version '{}' was rolled back: {}", withdrawn->name,
                          withdrawn->withdrawn_because)
            : fmt::format("Golden version '{}' begins from '{}', which was rolled back: {}",
                          opened.version.name, withdrawn->name, withdrawn->withdrawn_because));
  }
  if (opened.entries.empty()) {
    return FailedPrecondition(fmt::format(
        "Golden version '{0}' is empty, so there is nothing to export. 'attune golden add {0} "
        "--session NAME' fills it.",
        opened.version.name));
  }
  GoldenForTarget golden;
  ATTUNE_ASSIGN_OR_RETURN(golden.target, TargetOf(opened.entries, part.target));
  std::erase_if(opened.entries, [&](const GoldenEntry& entry) {
    const bool is_of_cache = part.cache.empty() || part.cache == CacheName(entry);
    return entry.target != golden.target || !is_of_cache;
  });
  ATTUNE_RETURN_IF_ERROR(CheckOneForEachProblem(opened.entries, part));
  golden.version = std::move(opened.version);
  golden.entries = std::move(opened.entries);
  return golden;
}

}  // namespace attune
