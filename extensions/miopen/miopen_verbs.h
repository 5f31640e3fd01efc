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

// -o, which has to be given. Databases are written as MIOpen reads them, and that is not packed.
void AddOutputOption(CLI::App& verb, std::string& file, const std::string& description);

// "find-db of gfx906_60, 120454 records".
std::string Headline(const Database& database);

// How many of each kind there are, the first `shown` of each with their places.
std::string FindingsText(const Findings& findings, size_t shown);
// The counts of each kind and the first `shown` of each, in the order of lines.
Json FindingsJson(const Findings& findings, size_t shown = Findings::kMostKept);

// Of which GPU it is: what its rows say, where they name one GPU and no other, else its name. Empty
// where nothing tells.
std::string TargetOf(const Database& database);

// Whether there is anything in it that can be asked for: configurations without parameters cannot.
bool HasRecord(const Database& database);

// The perf-db of a file that has one of one GPU. kUnsupported for a file of several GPUs.
Result<const PerfDb*> OnlyPerfDb(const Database& database);

// Leaves in tables of `file` whose rows name their GPU what is of `target`, or all if that is
// empty; how many records that leaves out. kNotFound if it leaves nothing of several GPUs.
Result<int64_t> TakeTarget(PerfTables& tables, const std::string& file, const std::string& target);
// Prints how many records of `file` that were, on the error stream; nothing of none. Returns
// whether there are any. So does the next one.
bool ReportOtherGpus(int64_t records, const std::string& file, const std::string& target,
                     Output& err);
// How many parameters of `file` have no room under the keys of a perf-db (ConvertedPerfDb).
bool ReportOtherParameters(int64_t parameters, const std::string& file, Output& err);

// One line for what reading `database` left out, on the error stream; nothing if nothing was.
// Returns whether something was.
bool ReportLeftOut(const Database& database, Application& application);

}  // namespace attune::miopen
