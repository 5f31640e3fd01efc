// Checks that results of a file hold here. Validators are compared one by one, by their meaning,
// and results are judged one by one, so that a difference invalidates only the results that depend
// on it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attune/problem/target.h"
#include "attune/trial/candidate.h"
#include "attune/trial/match_policy.h"
#include "attune/tunable/results_file.h"

namespace attune {

// Where this process runs.
struct TunableIdentity {
  std::string attune_version;  // "0.1.0"
  Target target;
  Environment environment;
};

// Version of the form of our lines, as ATTUNE_RESULTS.
inline constexpr int kResultsVersion = 1;

// True if the field describes the host (its name, its kernel). Such fields are for readers: no
// result depends on them.
bool IsHostField(std::string_view key);

// Validators that we write over our results: ATTUNE_RESULTS, ATTUNE_VERSION, ATTUNE_TARGET and one
// line for each field of the environment under its own name ("library.openblas").
std::vector<Validator> ValidatorsOf(const TunableIdentity& identity);

enum class ValidatorKind {
  kMustMatch,        // Another value rejects the section.
  kCompatibleRange,  // A value out of range rejects the section.
  kPerResult,        // Another value rejects results that depend on it.
  kInformational,    // Another value is reported.
};
std::string_view Name(ValidatorKind kind);

struct ValidatorVerdict {
  Validator validator;  // As the file has it.
  std::string here;     // Our value; empty if we have none.
  ValidatorKind kind = ValidatorKind::kInformational;
  bool agrees = true;
  std::string reason;  // A sentence if it does not agree.
};

struct SectionVerdict {
  std::vector<ValidatorVerdict> validators;
  std::string rejection;  // Empty if the section is not rejected as a whole.
  // Environment of its measurements: ours, overlaid with the values of the section.
  Environment environment;
  bool is_own = false;  // Has an ATTUNE_TARGET, so attune wrote it.

  bool rejected() const { return !rejection.empty(); }
};

// Validators of PyTorch inform, unless they name another device than this one (CUDA_DEVICE,
// GCN_ARCH_NAME) or another version of a library that the environment knows, which counts per
// result.
SectionVerdict JudgeSection(const std::vector<Validator>& validators, const TunableIdentity& here);

// Empty if a result with `candidate` of a section that was not rejected holds here; else why not.
std::string JudgeResult(const SectionVerdict& section, const Candidate& candidate,
                        const TunableIdentity& here);

// True if new results of this process belong under these validators: attune's own, all of them,
// equal but for fields about the host itself.
bool IsSectionOf(const std::vector<Validator>& validators, const TunableIdentity& here);

}  // namespace attune
