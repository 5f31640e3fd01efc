// Databases as the lines that are kept of them, and back.
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

// What a record of a find-db is asked by: the problem that its key means, or the key itself where
// no problem says the same.
Fingerprint LookupKey(const FindRecord& record);
// What parameters for a convolution are asked by. `find_key` is a key of a find-db.
Fingerprint ParametersLookupKey(const FindKey& find_key);
// The key by which parameters for a batch norm are asked for: the problem that `key` of a perf-db
// means, or `key` itself where no problem says the same.
Fingerprint BatchNormLookupKey(std::string_view key);

// One line for each record, which reads as the same one. Records without items have none.
std::vector<ImportedLine> LinesOf(const FindDb& db);
std::vector<ImportedLine> LinesOf(const PerfDb& db);
// One line that says what it is, then its blob in base64 in parts, all under one key.
std::vector<ImportedLine> LinesOf(const KernelRow& row);

// Makes rows of the lines that LinesOf made of them.
class KernelAssembler {
 public:
  using Take = std::function<Status(const KernelRow&)>;

  explicit KernelAssembler(Take take) : take_(std::move(take)) {}
  // kDataLoss for a line that none of LinesOf is.
  Status Add(const ImportedLine& line);
  // kDataLoss if the last row is not whole.
  Status Finish() const;

 private:
  Take take_;
  KernelRow row_;
  size_t missing_bytes_ = 0;  // Of the blob of row_.
};

}  // namespace attune::miopen
