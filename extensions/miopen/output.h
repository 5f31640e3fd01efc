// Writes databases in the form that the name of the output asks for.
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

// In place of a file: standard output, for text alone.
inline constexpr std::string_view kStandardOutput = "-";

struct OutputForm {
  std::string file;               // kStandardOutput needs `screen`.
  Output* screen = nullptr;       // Null for verbs that write files alone.
  std::optional<int> generation;  // --generation, of find-dbs.
  std::optional<std::string>
      schema;  // --schema, of perf-dbs in SQLite: 1.0.0, or 1.1.0 as without.
};

// --generation and --schema, which a database of another kind or form than they are of would take
// without a word.
void AddFormOptions(CLI::App& verb, OutputForm& form, const std::string& default_generation);
// kInvalidArgument for one of them that `name`, of the output, has nothing of.
Status CheckFormOptions(const OutputForm& form, const FileName& name);

// What a database is of that is to be written.
struct WrittenGpu {
  std::string source;        // "what was imported", "'gfx906_60.db'".
  std::string target;        // "gfx906_60"; empty where nothing tells.
  std::string backend = "";  // "HIP", "OpenCL"; empty where nothing tells.
};

// kInvalidArgument for a name that begins as that of a GPU and is none, as "gfx906_6O.HIP.fdb.txt".
Status CheckClaimedGpu(const FileName& name, const std::string& file);
// The same, and for the name of another GPU than what is written is of: MIOpen takes it so. A name
// that tells of no GPU is any GPU's. Kernels may be of a whole architecture on either side. In the
// same way for find-dbs of MIOpen on HIP and on OpenCL, which have other kernels.
Status CheckGpu(const FileName& name, const std::string& file, const WrittenGpu& written);
// What both say of that: `file` is of `named`, and what is written of `written`.
Status AnotherGpu(const std::string& file, const std::string& named, const WrittenGpu& written);

// A sentence about the names of databases of `kind`, such as "They end as .kdb.".
std::string_view NamesOf(DatabaseKind kind);

// kFailedPrecondition of a database without a record: empty, it would replace a good one.
Status NothingToWrite(const std::string& file);

// The generation that was asked for, else that of `dbs`: 2 if any of their items is.
Generation GenerationFor(const OutputForm& form, std::span<const FindDb* const> dbs);

// Each record in `generation`. How many items that has no room for: in the first one only the best
// solver of each algorithm stands. NothingToWrite if there is no record.
Result<int64_t> WriteFindDb(const FindDb& db, Generation generation, const OutputForm& form);
// The sentence about that.
inline constexpr std::string_view kNoRoom =
    "Generation 1 has the best solver of each algorithm alone.";

struct WrittenPerfDb {
  int64_t records = 0;           // Under the keys that they were written with.
  int64_t unused_configs = 0;    // Without parameters, left out: a text has none.
  int64_t other_parameters = 0;  // Left out (kOtherParameters).
};
// SQLite or text by the name of the file, text on standard output. kInvalidArgument where the name
// is none of a perf-db of convolutions, or of batch norms where those are written, and for several
// GPUs in a form that takes one; NothingToWrite if there is no record.
Result<WrittenPerfDb> WritePerfDb(PerfTables tables, const OutputForm& form);
// The sentence about configurations without parameters.
inline constexpr std::string_view kNoParameters =
    "Without parameters. Only tables keep such, those of version 1.0.0 for no GPU.";
// Prints how many configurations were left out, with that sentence, on the error stream; nothing of
// none. Returns whether there are any.
bool ReportConfigs(uint64_t left_out, Output& err);

}  // namespace attune::miopen
