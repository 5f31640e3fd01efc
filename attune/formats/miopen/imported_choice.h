// Answers from imported databases of MIOpen for a problem.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/formats/miopen/find_db.h"
#include "attune/formats/miopen/perf_db.h"
#include "attune/formats/miopen/solver_candidate.h"
#include "attune/problem/problem.h"
#include "attune/record/import_store.h"

namespace attune::miopen {

// The MIOpen backend of the times in an imported find-db (FileName::backend).
std::string BackendOf(const ImportedFile& file);
// Returns true if the file answers only without one of another backend: MIOpen on OpenCL is
// discontinued.
bool IsSecond(const ImportedFile& file);

struct ImportedCandidate {
  SolverChoice choice;  // With parameters if a perf-db of the target has some.
  double time_ns = 0;
  int64_t workspace_bytes = 0;
};

struct ImportedAnswer {
  std::vector<ImportedCandidate> ranking;  // Quickest first; may be empty.
  std::string file;                        // The file and the line with the times.
  int64_t line = 0;
  std::string parameters_file;     // The perf-db that has parameters of a candidate; or empty.
  int64_t imported_unix_ns = 0;    // As of the file.
  std::vector<std::string> notes;  // The parts passed over and why, a sentence each.
};

// Parameters in a perf-db for a problem, by solver.
struct ImportedParameters {
  std::string file;  // Its name; empty if there is none.
  std::vector<PerfItem> items;
};

// The answer of `record`, a line of `file`, with the parameters that a perf-db has for its problem.
// Skips items that MIOpen passes over (WhyPassedOver).
ImportedAnswer AnswerOf(const ImportedFile& file, const FindRecord& record,
                        const ImportedParameters& parameters);
// An answer without a ranking: notes of `parameters`, a line of a perf-db of batch norms.
ImportedAnswer AnswerOf(const ImportedFile& file, const PerfRecord& parameters);

// The record that is kept as `line`, with its number. kDataLoss if it is none. Times that were
// credible when it was imported and no longer are get left out of it, all of them if need be.
Result<FindRecord> FindRecordOf(const ImportedFile& file, const ImportedLine& line);
Result<PerfRecord> PerfRecordOf(const ImportedFile& file, const ImportedLine& line);
// Why such times are left out, a sentence.
inline constexpr std::string_view kNoLongerBelieved =
    "The time was believed when it was imported, and is known to be impossible now.";

// Returns true if the parameters of `record`, found under the problem's perf-db key, are for the
// problem under `find_key`: the oldest text has the whole key, and several problems with a stride
// share that of the others.
bool AreParametersFor(std::string_view find_key, const PerfRecord& record);

// The problem under which imported databases answer `problem` if they lack it itself: the problem
// that its key means (MeantByKeyOf), else `problem`.
Problem MeantByImports(const Problem& problem);

// The answer of the newest find-db of `target` with the problem, itself or as from MeantByImports,
// and of the newest perf-db; nothing if there is none. Second files (IsSecond) answer only if no
// others do. kNotFound, with the existing targets, if nothing was imported for `target`.
//
// MIOpen keeps no times of batch norms, so their answer has no ranking. Its notes are the
// parameters in the newest perf-db of batch norms.
Result<std::optional<ImportedAnswer>> AskImports(ImportStore& imports, std::string_view target,
                                                 const Problem& problem);

// Targets with imported databases, sorted.
Result<std::vector<std::string>> ImportedTargets(ImportStore& imports);

}  // namespace attune::miopen
