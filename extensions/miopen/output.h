// Writes databases in the form that the name of the output selects.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "apps/attune/terminal.h"
#include "apps/attune/verbs.h"
#include "attune/base/status.h"
#include "attune/formats/miopen/file_name.h"
#include "attune/formats/miopen/find_db.h"
#include "attune/formats/miopen/perf_db.h"
#include "storage/miopen/perf_tables.h"

namespace attune::miopen {

// Selects standard output in place of a file, for text alone.
inline constexpr std::string_view kStandardOutput = "-";

struct OutputForm {
  std::string file;                   // kStandardOutput needs `screen`.
  Output* screen = nullptr;           // Null for verbs that write files alone.
  std::optional<int> generation;      // --generation, for find-dbs.
  std::optional<std::string> schema;  // --schema, for SQLite perf-dbs; default 1.1.0.
};

// Adds --generation and --schema. A database of another kind or form would silently ignore them.
void AddFormOptions(CLI::App& verb, OutputForm& form, const std::string& default_generation);
// kInvalidArgument for an option that does not apply to `name`, the output.
Status CheckFormOptions(const OutputForm& form, const FileName& name);

// The GPU and the source of a database to write.
struct WrittenGpu {
  std::string source;        // "what was imported", "'gfx906_60.db'".
  std::string target;        // "gfx906_60"; empty where nothing tells.
  std::string backend = "";  // "HIP", "OpenCL"; empty where nothing tells.
};

// kInvalidArgument for a name that resembles that of a GPU but is invalid, as
// "gfx906_6O.HIP.fdb.txt".
Status CheckClaimedGpu(const FileName& name, const std::string& file);
// The same, and also for a name of another GPU than the content: MIOpen relies on it. A name
// without a GPU fits any. Either side can name a whole architecture for kernels. The same holds for
// find-dbs of MIOpen on HIP and on OpenCL, which have other kernels.
Status CheckGpu(const FileName& name, const std::string& file, const WrittenGpu& written);
// The error of both: `file` is for `named`, the content for `written`.
Status AnotherGpu(const std::string& file, const std::string& named, const WrittenGpu& written);

// A sentence about the names of databases of `kind`, such as "They end as .kdb.".
std::string_view NamesOf(DatabaseKind kind);

// kFailedPrecondition for a database without a record, which would replace a good one.
Status NothingToWrite(const std::string& file);

// The requested generation, else that of `dbs`: 2 if any of their items is.
Generation GenerationFor(const OutputForm& form, std::span<const FindDb* const> dbs);

// Writes each record in `generation`; returns the number of items for which that has no room: the
// first generation has only the best solver of each algorithm. NothingToWrite if there is no
// record.
Result<int64_t> WriteFindDb(const FindDb& db, Generation generation, const OutputForm& form);
// The sentence for it.
inline constexpr std::string_view kNoRoom =
    "Generation 1 has the best solver of each algorithm alone.";

struct WrittenPerfDb {
  int64_t records = 0;           // Under the written keys.
  int64_t unused_configs = 0;    // Without parameters, left out of texts.
  int64_t other_parameters = 0;  // Left out (kOtherParameters).
};
// Writes SQLite or text by the name of the file, text on standard output. kInvalidArgument if the
// name is not that of a perf-db of convolutions, or of batch norms when those are written, and for
// several GPUs in a form for one; NothingToWrite if there is no record.
Result<WrittenPerfDb> WritePerfDb(PerfTables tables, const OutputForm& form);
// The sentence for configurations without parameters.
inline constexpr std::string_view kNoParameters =
    "Without parameters. Only tables keep such, those of version 1.0.0 for no GPU.";
// Prints the number of configurations left out, with that sentence, on the error stream, if any.
// Returns true if there are any.
bool ReportConfigs(uint64_t left_out, Output& err);

}  // namespace attune::miopen
