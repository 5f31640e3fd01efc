// What imported databases of MIOpen's answer for a problem.
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

// Of which MIOpen the times of an imported find-db are (FileName::backend).
std::string BackendOf(const ImportedFile& file);
// Whether the file answers only where none of another backend does: MIOpen on OpenCL is no more.
bool IsSecond(const ImportedFile& file);

struct ImportedCandidate {
  SolverChoice choice;  // Parameters where a perf-db of the target has some.
  double time_ns = 0;
  int64_t workspace_bytes = 0;
};

struct ImportedAnswer {
  std::vector<ImportedCandidate> ranking;  // Quickest first; may be empty.
  std::string file;                        // That has the times, and on which line.
  int64_t line = 0;
  std::string parameters_file;     // The perf-db that has parameters of a candidate; or empty.
  int64_t imported_unix_ns = 0;    // As of the file.
  std::vector<std::string> notes;  // What was passed over and why, a sentence each.
};

// What a perf-db has for a problem, by solver.
struct ImportedParameters {
  std::string file;  // Its name; empty if there is none.
  std::vector<PerfItem> items;
};

// What `record`, a line of `file`, says with the parameters that a perf-db has for its problem.
// What MIOpen passes over is passed over (WhyPassedOver).
ImportedAnswer AnswerOf(const ImportedFile& file, const FindRecord& record,
                        const ImportedParameters& parameters);
// An answer without a ranking: notes of `parameters`, a line of a perf-db of batch norms.
ImportedAnswer AnswerOf(const ImportedFile& file, const PerfRecord& parameters);

// The record that is kept as `line`, with its number. kDataLoss if it is none. Times that were
// believed when it was imported and are not any more are left out of it, all of them if need be.
Result<FindRecord> FindRecordOf(const ImportedFile& file, const ImportedLine& line);
Result<PerfRecord> PerfRecordOf(const ImportedFile& file, const ImportedLine& line);
// Why such times are left out, a sentence.
inline constexpr std::string_view kNoLongerBelieved =
    "The time was believed when it was imported, and is known to be impossible now.";

// Whether the parameters of `record`, which has the key of a perf-db that the problem has, are for
// the problem under `find_key`: the oldest text has the whole key, and several problems with a
// stride share that of the others.
bool AreParametersFor(std::string_view find_key, const PerfRecord& record);

// What imported databases have for `problem` where they do not have it as it is: the problem that
// its key means (MeantByKeyOf), else itself.
Problem MeantByImports(const Problem& problem);

// By the newest find-db of `target` that has the problem, as it is or as MeantByImports has it, and
// the newest perf-db; nothing if none does. Files that come second (IsSecond) answer where no
// others do. kNotFound if nothing was imported for `target`, with the targets that there are.
//
// MIOpen keeps no times of batch norms, so their answer has no ranking. Its notes are the
// parameters in the newest perf-db of batch norms.
Result<std::optional<ImportedAnswer>> AskImports(ImportStore& imports, std::string_view target,
                                                 const Problem& problem);

// Targets with imported databases, sorted.
Result<std::vector<std::string>> ImportedTargets(ImportStore& imports);

}  // namespace attune::miopen
