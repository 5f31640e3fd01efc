// MatchPolicy: the differences between then and now that invalidate a measurement.
#include "attune/trial/match_policy.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <variant>

#include <fmt/format.h>

namespace attune {
namespace {

constexpr std::string_view kLibraryPrefix = "library.";
constexpr std::string_view kPolicyPrefix = "policy.";
constexpr std::string_view kDriverPrefix = "driver.";
constexpr std::string_view kBuildSuffix = ".build_id";
constexpr std::string_view kUnknown = "unknown";

// Returns true if `word` stands in `text` between separators: "blas" is no word of
// "host.openblas-gemm".
bool HasWord(std::string_view text, std::string_view word) {
  constexpr std::string_view kSeparators = ".-_:+";
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of(kSeparators), text.size());
    if (text.substr(0, end) == word) return true;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return false;
}

// "onednn" of "library.onednn" and "library.onednn.build_id"; empty if the field belongs to no
// library.
std::string_view LibraryOf(std::string_view field) {
  if (!field.starts_with(kLibraryPrefix)) return {};
  field.remove_prefix(kLibraryPrefix.size());
  return field.substr(0, field.find('.'));
}

// The name of the solver within its backend: "conv-direct" of "opencl.conv-direct".
std::string_view OwnName(std::string_view solver_name) {
  return solver_name.substr(solver_name.find('.') + 1);
}

// A policy that a machine does not report is no evidence of a difference.
bool IsUnknownPolicy(std::string_view field, const std::string* value) {
  return field.starts_with(kPolicyPrefix) && value != nullptr && *value == kUnknown;
}

bool Agree(std::string_view field, const std::string* then_value, const std::string* now_value) {
  if (IsUnknownPolicy(field, then_value) || IsUnknownPolicy(field, now_value)) return true;
  return then_value != nullptr && now_value != nullptr && *then_value == *now_value;
}

// A solver that calls another one has its name as a parameter: the GEMM below an im2col.
bool ConfigNames(const Config& config, std::string_view library) {
  return std::any_of(config.begin(), config.end(), [&](const auto& parameter) {
    const std::string* value = std::get_if<std::string>(&parameter.second);
    return value != nullptr && RunsLibrary(*value, library);
  });
}

const std::string* Find(const Environment& environment, const std::string& field) {
  const auto found = environment.find(field);
  return found == environment.end() ? nullptr : &found->second;
}

// "library.onednn" and "library.onednn.build_id".
bool IsVersionOrBuild(std::string_view field, std::string_view library) {
  const std::string_view rest = field.substr(kLibraryPrefix.size() + library.size());
  return rest.empty() || rest == kBuildSuffix;
}

// "2.6" of "2.6.3 (c740ed9)"; empty if there are no two numbers.
std::string_view FirstTwoNumbers(std::string_view version) {
  const auto digits_from = [&](size_t begin) {
    return std::min(version.find_first_not_of("0123456789", begin), version.size());
  };
  const size_t dot = digits_from(0);
  if (dot == 0 || dot >= version.size() || version[dot] != '.') return {};
  const size_t end = digits_from(dot + 1);
  return end == dot + 1 ? std::string_view() : version.substr(0, end);
}

// Returns true if the different values of a field are near enough to serve from.
bool IsInRange(const std::string& field, const Environment& then, const Environment& now) {
  if (field.starts_with(kPolicyPrefix)) return true;
  std::string version = field;
  if (field.starts_with(kLibraryPrefix)) {
    const std::string_view library = LibraryOf(field);
    if (!IsVersionOrBuild(field, library)) return false;
    // A build is as near as its version; attune's own kernels have none.
    version = fmt::format("{}{}", kLibraryPrefix, library);
  }
  const std::string* then_version = Find(then, version);
  const std::string* now_version = Find(now, version);
  if (then_version == nullptr || now_version == nullptr) return false;
  const std::string_view numbers = FirstTwoNumbers(*then_version);
  return !numbers.empty() && numbers == FirstTwoNumbers(*now_version);
}

// A field of the environment then, now or both.
struct FieldOfBoth {
  const std::string& name;
  const std::string* then_value = nullptr;
  const std::string* now_value = nullptr;
};

// Calls `visit` for fields with different values, in the order of their names, until it returns
// false. Callers of a run time wait for it, some dozens of times: nothing is copied.
template <class Visit>
void VisitDifferences(const Environment& environment, const Environment& now, const Visit& visit) {
  auto then = environment.begin();
  auto here = now.begin();
  while (then != environment.end() || here != now.end()) {
    const bool is_of_then =
        here == now.end() || (then != environment.end() && then->first <= here->first);
    const bool is_of_now =
        then == environment.end() || (here != now.end() && here->first <= then->first);
    const FieldOfBoth field{is_of_then ? then->first : here->first,
                            is_of_then ? &then->second : nullptr,
                            is_of_now ? &here->second : nullptr};
    if (is_of_then) ++then;
    if (is_of_now) ++here;
    if (!Agree(field.name, field.then_value, field.now_value) && !visit(field)) return;
  }
}

std::string Shown(const std::string* value) {
  return value == nullptr ? "absent" : fmt::format("'{}'", *value);
}

}  // namespace

// A library name of one word matches any word of the solver name; one of several words
// ("conv-direct") is a kernel file, which is a separate solver.
bool RunsLibrary(std::string_view solver_name, std::string_view library) {
  return !library.empty() && (HasWord(solver_name, library) || OwnName(solver_name) == library);
}

MatchPolicy MatchPolicy::Default() { return MatchPolicy(); }

MatchKind MatchPolicy::KindOf(std::string_view field, const SolverId& solver) const {
  if (field.starts_with(kDriverPrefix) || field.starts_with(kPolicyPrefix)) {
    return MatchKind::kCompatibleRange;
  }
  const std::string_view library = LibraryOf(field);
  if (!RunsLibrary(solver.name, library)) return MatchKind::kInformational;
  return IsVersionOrBuild(field, library) ? MatchKind::kCompatibleRange : MatchKind::kMustMatch;
}

Judgement MatchPolicy::Judge(const Candidate& candidate, const Target& target,
                             const Environment& environment, const Target& here,
                             const Environment& now) const {
  Judgement judgement;
  if (target != here) {
    const bool near = target.backend == here.backend && target.arch == here.arch;
    judgement = {near ? Validity::kCompatible : Validity::kInvalid,
                 fmt::format("Measured on target {}, but this is {}.", Text(target), Text(here))};
    if (!near) return judgement;
  }
  VisitDifferences(environment, now, [&](const FieldOfBoth& field) {
    const bool matters = KindOf(field.name, candidate.solver) != MatchKind::kInformational ||
                         ConfigNames(candidate.config, LibraryOf(field.name));
    if (!matters) return true;
    const bool in_range = IsInRange(field.name, environment, now);
    if (in_range && judgement.validity == Validity::kCompatible) return true;
    judgement = {in_range ? Validity::kCompatible : Validity::kInvalid,
                 fmt::format("Measured with {} {}, which {} depends on; it is {} now.", field.name,
                             Shown(field.then_value), Text(candidate), Shown(field.now_value))};
    return in_range;
  });
  return judgement;
}

std::string MatchPolicy::Mismatch(const Candidate& candidate, const Target& target,
                                  const Environment& environment, const Target& here,
                                  const Environment& now) const {
  return Judge(candidate, target, environment, here, now).reason;
}

}  // namespace attune
