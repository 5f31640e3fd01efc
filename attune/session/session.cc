#include "attune/session/session.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "attune/base/unix_time.h"

namespace attune {
namespace {

constexpr std::string_view kLibrary = "library.";
constexpr std::string_view kDriver = "driver.";
constexpr std::string_view kPolicy = "policy.";
constexpr std::string_view kUnknown = "unknown";

// "openblas" of "library.openblas.build_id".
std::string_view LibraryOf(std::string_view field) {
  field.remove_prefix(kLibrary.size());
  return field.substr(0, field.find('.'));
}

const std::string* Find(const Environment& environment, const std::string& field) {
  const auto found = environment.find(field);
  return found == environment.end() ? nullptr : &found->second;
}

// Names of the two sides of a comparison in a sentence: "in the session".
struct Sides {
  std::string then;
  std::string now;
};

// A sentence, or nothing if the field says the same on both sides.
std::optional<std::string> DifferenceIn(const std::string& field, const std::string* then,
                                        const std::string* now, const Sides& sides) {
  if (then != nullptr && now != nullptr && *then == *now) return std::nullopt;
  const auto is_unknown = [](const std::string* value) {
    return value == nullptr || *value == kUnknown;
  };
  if (field.starts_with(kPolicy) && (is_unknown(then) || is_unknown(now))) return std::nullopt;
  if (then == nullptr) {
    return fmt::format("{} is {} {} and is not {}", field, *now, sides.now, sides.then);
  }
  if (now == nullptr) {
    return fmt::format("{} is {} {} and is missing {}", field, *then, sides.then, sides.now);
  }
  return fmt::format("{} is {} {} and {} {}", field, *then, sides.then, *now, sides.now);
}

void AddFieldDifferences(const Environment& then, const Environment& now, const Sides& sides,
                         std::vector<std::string>& differences) {
  for (const auto& [field, value] : then) {
    if (auto difference = DifferenceIn(field, &value, Find(now, field), sides)) {
      differences.push_back(std::move(*difference));
    }
  }
  for (const auto& [field, value] : now) {
    if (then.contains(field)) continue;
    if (auto difference = DifferenceIn(field, nullptr, &value, sides)) {
      differences.push_back(std::move(*difference));
    }
  }
}

void AddTargetDifference(const SessionTerms& terms, const Target& target,
                         std::vector<std::string>& differences) {
  if (terms.target.has_value()) {
    if (*terms.target == target) return;
    differences.push_back(fmt::format("the device is {} in the session and {} here",
                                      Text(*terms.target), Text(target)));
  } else if (terms.backend != target.backend || terms.arch != target.arch) {
    differences.push_back(fmt::format("the session is for {} of {}, and the device here is {}",
                                      terms.arch, terms.backend, Text(target)));
  }
}

}  // namespace

Status ValidateSessionName(std::string_view name) {
  const bool is_printable =
      std::all_of(name.begin(), name.end(), [](char c) { return c >= ' ' && c <= '~'; });
  const bool has_text = std::any_of(name.begin(), name.end(), [](char c) { return c != ' '; });
  if (is_printable && has_text && name.size() <= kMaxSessionNameBytes) return Status::Ok();
  return InvalidArgument(
      fmt::format("A session's name has 1 to {} printable ASCII characters, not blanks alone; this "
                  "one has {} bytes.",
                  kMaxSessionNameBytes, name.size()));
}

Environment FixedPart(const Environment& environment,
                      const std::function<bool(std::string_view)>& is_own_code) {
  Environment fixed;
  for (const auto& [field, value] : environment) {
    const bool is_library = field.starts_with(kLibrary);
    if (is_library ? is_own_code(LibraryOf(field))
                   : !field.starts_with(kDriver) && !field.starts_with(kPolicy)) {
      continue;
    }
    fixed.emplace(field, value);
  }
  return fixed;
}

std::vector<std::string> DifferencesOf(const SessionTerms& terms, const Target& target,
                                       const Environment& here) {
  std::vector<std::string> differences;
  AddTargetDifference(terms, target, differences);
  if (!terms.target.has_value()) return differences;
  AddFieldDifferences(terms.fixed, here, {"in the session", "here"}, differences);
  return differences;
}

std::vector<std::string> DifferencesBetween(const Session& a, const Session& b) {
  std::vector<std::string> differences;
  AddFieldDifferences(a.terms.fixed, b.terms.fixed,
                      {fmt::format("in '{}'", a.name), fmt::format("in '{}'", b.name)},
                      differences);
  return differences;
}

Status RefusedAsClosed(const Session& session, std::string_view because) {
  return FailedPrecondition(fmt::format(
      "Session '{}' is closed since {} (by {}), so {}. 'attune session new NAME' makes another.",
      session.name, FormatMoment(session.closed_unix_ns), session.closed_by, because));
}

Status CheckBelongs(const Session& session, const Target& target, const Environment& environment) {
  if (session.is_closed()) return RefusedAsClosed(session, "nothing more is measured in it");
  Environment here;
  for (const auto& [field, value] : session.terms.fixed) {
    if (const std::string* now = Find(environment, field)) here.emplace(field, *now);
  }
  const auto differences = DifferencesOf(session.terms, target, here);
  if (differences.empty()) return Status::Ok();
  return FailedPrecondition(fmt::format(
      "Nothing was measured in session '{}', which is for another environment: {}. Restore what it "
      "was made for, or make a new session.",
      session.name, fmt::join(differences, "; ")));
}

}  // namespace attune
