// Converts databases to their stored lines, and back.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/formats/miopen/find_db.h"
#include "attune/formats/miopen/kernel_db.h"
#include "attune/formats/miopen/perf_db.h"
#include "attune/record/import_store.h"

namespace attune::miopen {

// Kinds of imported files.
inline constexpr std::string_view kFindDbKind = "miopen.find-db";
inline constexpr std::string_view kPerfDbKind = "miopen.perf-db";
inline constexpr std::string_view kKernelDbKind = "miopen.kernel-db";
inline constexpr std::string_view kBatchNormDbKind = "miopen.batch-norm-db";

// The lookup key of a record of a find-db: the problem that its key means, or the key itself if no
// problem has the same meaning.
Fingerprint LookupKey(const FindRecord& record);
// The lookup key of parameters for a convolution. `find_key` is a key of a find-db.
Fingerprint ParametersLookupKey(const FindKey& find_key);
// The lookup key of parameters for a batch norm: the problem that `key` of a perf-db means, or
// `key` itself if no problem has the same meaning.
Fingerprint BatchNormLookupKey(std::string_view key);

// One line for each record, which parses to the same record. Records without items have none.
std::vector<ImportedLine> LinesOf(const FindDb& db);
std::vector<ImportedLine> LinesOf(const PerfDb& db);
// A header line, then the blob in base64 in parts, all under one key.
std::vector<ImportedLine> LinesOf(const KernelRow& row);

// Makes rows of the lines from LinesOf.
class KernelAssembler {
 public:
  using Take = std::function<Status(const KernelRow&)>;

  explicit KernelAssembler(Take take) : take_(std::move(take)) {}
  // kDataLoss for a line that LinesOf cannot produce.
  Status Add(const ImportedLine& line);
  // kDataLoss if the last row is incomplete.
  Status Finish() const;

 private:
  Take take_;
  KernelRow row_;
  size_t missing_bytes_ = 0;  // Missing part of the blob of row_.
};

}  // namespace attune::miopen
