// `attune miopen ...`: the verbs for MIOpen's databases, one source file each.
#pragma once

#include <string>

#include "apps/attune/json_text.h"
#include "apps/attune/verbs.h"
#include "storage/miopen/database.h"

namespace attune {

void AddMiopenVerb(CLI::App& program, Invocation& invocation);

}  // namespace attune

namespace attune::miopen {

void AddImportVerb(CLI::App& miopen, Invocation& invocation);
void AddExportVerb(CLI::App& miopen, Invocation& invocation);
void AddLintVerb(CLI::App& miopen, Invocation& invocation);
void AddConvertVerb(CLI::App& miopen, Invocation& invocation);
void AddMergeVerb(CLI::App& miopen, Invocation& invocation);
void AddDiffVerb(CLI::App& miopen, Invocation& invocation);

// Adds -o, which is required. MIOpen reads databases unpacked, so they are written so.
void AddOutputOption(CLI::App& verb, std::string& file, const std::string& description);

// "find-db of gfx906_60, 120454 records".
std::string Headline(const Database& database);

// The number of each kind, and the first `shown` of each with their places.
std::string FindingsText(const Findings& findings, size_t shown);
// The counts of each kind and the first `shown` of each, in the order of lines.
Json FindingsJson(const Findings& findings, size_t shown = Findings::kMostKept);

// The GPU of the database: from its rows if they name a single GPU, else from its name. Empty if
// unknown.
std::string TargetOf(const Database& database);

// True if it has any entry to look up: configurations without parameters do not count.
bool HasRecord(const Database& database);

// The perf-db of a file with a single GPU. kUnsupported for a file of several GPUs.
Result<const PerfDb*> OnlyPerfDb(const Database& database);

// In tables of `file` with a GPU in each row, keeps the rows of `target`, or all if that is empty;
// returns the number of records that this leaves out. kNotFound if it leaves nothing of several
// GPUs.
Result<int64_t> TakeTarget(PerfTables& tables, const std::string& file, const std::string& target);
// Prints on the error stream how many records of `file` were left out, if any. Returns true if
// there were any. So does the next function.
bool ReportOtherGpus(int64_t records, const std::string& file, const std::string& target,
                     Output& err);
// Reports the parameters of `file` that have no room under the keys of a perf-db (ConvertedPerfDb).
bool ReportOtherParameters(int64_t parameters, const std::string& file, Output& err);

// Prints one line on the error stream about entries left out when `database` was read, if any.
// Returns true if there were any.
bool ReportLeftOut(const Database& database, Application& application);

}  // namespace attune::miopen
