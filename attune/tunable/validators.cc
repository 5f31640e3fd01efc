#include "attune/tunable/validators.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "attune/problem/text_error.h"

namespace attune {
namespace {

constexpr std::string_view kResultsKey = "ATTUNE_RESULTS";
constexpr std::string_view kVersionKey = "ATTUNE_VERSION";
constexpr std::string_view kTargetKey = "ATTUNE_TARGET";

bool IsEnvironmentField(std::string_view key) {
  return key.starts_with("library.") || key.starts_with("driver.") || key.starts_with("policy.") ||
         IsHostField(key);
}

// The library of ours that a validator of PyTorch is about.
std::optional<std::string_view> LibraryFieldOf(std::string_view key) {
  if (key == "CUBLASLT_VERSION") return "library.cublaslt";
  if (key == "ROCBLAS_VERSION") return "library.rocblas";
  if (key == "HIPBLASLT_VERSION") return "library.hipblaslt";
  return std::nullopt;
}

// A value as our environment has it. PyTorch writes cuBLASLt's number, 130200, for a version that
// is 13.2.0 everywhere else.
std::string AsOurs(const Validator& validator) {
  const auto& [key, value] = validator;
  int64_t number = 0;
  const char* const end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, number);
  if (key != "CUBLASLT_VERSION" || error != std::errc() || stop != end || number < 0) return value;
  return fmt::format("{}.{}.{}", number / 10000, number / 100 % 100, number % 100);
}

std::optional<int> LeadingInteger(std::string_view text) {
  int value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  return value;
}

// Exports of release 0.1.0 have the name before the version.
constexpr std::string_view kNameBeforeVersion = "attune ";

// Releases read each other's results as long as the first number of the version stays: the version
// of a solver, not ours, covers its meaning.
bool VersionsAgree(std::string_view then, std::string_view now) {
  if (then.starts_with(kNameBeforeVersion)) then.remove_prefix(kNameBeforeVersion.size());
  const auto major = LeadingInteger(then);
  return major.has_value() && major == LeadingInteger(now);
}

// "9.0:NVIDIA H200", as PyTorch writes it, against a CUDA target.
bool IsDevice(std::string_view cuda_device, const Target& here) {
  const size_t colon = cuda_device.find(':');
  return colon != std::string_view::npos && cuda_device.substr(colon + 1) == here.device;
}

// "gfx90a:sramecc+:xnack-" against "gfx90a".
bool IsArch(std::string_view gcn_arch, const Target& here) {
  return gcn_arch.substr(0, gcn_arch.find(':')) == here.arch;
}

std::string Field(const Environment& environment, std::string_view key) {
  const auto found = environment.find(std::string(key));
  return found == environment.end() ? std::string() : found->second;
}

std::string Differs(const ValidatorVerdict& verdict) {
  return fmt::format("{} is {}, here it is {}.", Quoted(verdict.validator.first),
                     Quoted(verdict.validator.second),
                     verdict.here.empty() ? "unknown" : Quoted(verdict.here));
}

// Kind, our value and agreement of a validator of attune; empty for a foreign one.
bool JudgeOwn(const TunableIdentity& here, ValidatorVerdict& verdict) {
  const auto& [key, value] = verdict.validator;
  if (key == kTargetKey) {
    verdict.kind = ValidatorKind::kMustMatch;
    verdict.here = Text(here.target);
    verdict.agrees = value == verdict.here;
  } else if (key == kResultsKey) {
    verdict.kind = ValidatorKind::kCompatibleRange;
    verdict.here = fmt::format("{}", kResultsVersion);
    const auto version = LeadingInteger(value);
    verdict.agrees = version.has_value() && *version >= 1 && *version <= kResultsVersion;
  } else if (key == kVersionKey) {
    verdict.kind = ValidatorKind::kCompatibleRange;
    verdict.here = here.attune_version;
    verdict.agrees = VersionsAgree(value, here.attune_version);
  } else if (IsEnvironmentField(key)) {
    verdict.kind = IsHostField(key) ? ValidatorKind::kInformational : ValidatorKind::kPerResult;
    verdict.here = Field(here.environment, key);
    verdict.agrees = value == verdict.here;
  } else {
    return false;
  }
  return true;
}

void JudgeForeign(const TunableIdentity& here, ValidatorVerdict& verdict) {
  const auto& [key, value] = verdict.validator;
  if (key == "CUDA_DEVICE" && here.target.backend == "cuda") {
    verdict.kind = ValidatorKind::kMustMatch;
    verdict.here = here.target.device;
    verdict.agrees = IsDevice(value, here.target);
  } else if (key == "GCN_ARCH_NAME" && here.target.arch.starts_with("gfx")) {
    verdict.kind = ValidatorKind::kMustMatch;
    verdict.here = here.target.arch;
    verdict.agrees = IsArch(value, here.target);
  } else if (const auto field = LibraryFieldOf(key)) {
    verdict.here = Field(here.environment, *field);
    if (verdict.here.empty()) return;
    verdict.kind = ValidatorKind::kPerResult;
    verdict.agrees = AsOurs(verdict.validator) == verdict.here;
  }
}

}  // namespace

std::string_view Name(ValidatorKind kind) {
  switch (kind) {
    case ValidatorKind::kMustMatch:
      return "must_match";
    case ValidatorKind::kCompatibleRange:
      return "compatible_range";
    case ValidatorKind::kPerResult:
      return "per_result";
    case ValidatorKind::kInformational:
      return "informational";
  }
  return "";
}

bool IsHostField(std::string_view key) { return key.starts_with("host."); }

std::vector<Validator> ValidatorsOf(const TunableIdentity& identity) {
  std::vector<Validator> validators = {
      {std::string(kResultsKey), fmt::format("{}", kResultsVersion)},
      {std::string(kVersionKey), identity.attune_version},
      {std::string(kTargetKey), Text(identity.target)}};
  for (const auto& [key, value] : identity.environment) validators.emplace_back(key, value);
  return validators;
}

SectionVerdict JudgeSection(const std::vector<Validator>& validators, const TunableIdentity& here) {
  SectionVerdict section;
  section.environment = here.environment;
  for (const Validator& validator : validators) {
    ValidatorVerdict verdict;
    verdict.validator = validator;
    if (validator.first == kTargetKey) section.is_own = true;
    if (!JudgeOwn(here, verdict)) JudgeForeign(here, verdict);
    if (!verdict.agrees) verdict.reason = Differs(verdict);
    const bool rejects = !verdict.agrees && (verdict.kind == ValidatorKind::kMustMatch ||
                                             verdict.kind == ValidatorKind::kCompatibleRange);
    if (rejects && section.rejection.empty()) section.rejection = verdict.reason;
    if (IsEnvironmentField(validator.first)) {
      section.environment[validator.first] = validator.second;
    } else if (verdict.kind == ValidatorKind::kPerResult) {
      section.environment[std::string(*LibraryFieldOf(validator.first))] = AsOurs(validator);
    }
    section.validators.push_back(std::move(verdict));
  }
  return section;
}

std::string JudgeResult(const SectionVerdict& section, const Candidate& candidate,
                        const TunableIdentity& here) {
  if (section.rejected()) return section.rejection;
  return MatchPolicy::Default().Mismatch(candidate, here.target, section.environment, here.target,
                                         here.environment);
}

bool IsSectionOf(const std::vector<Validator>& validators, const TunableIdentity& here) {
  std::map<std::string, std::string> found(validators.begin(), validators.end());
  std::map<std::string, std::string> ours;
  for (auto& [key, value] : ValidatorsOf(here)) ours.emplace(std::move(key), std::move(value));
  const auto is_host = [](const auto& entry) { return IsHostField(entry.first); };
  std::erase_if(found, is_host);
  std::erase_if(ours, is_host);
  return found == ours;
}

}  // namespace attune
