// Kernel databases as SQLite tables. docs/formats/miopen.md.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>

#include "attune/base/status.h"
#include "attune/formats/miopen/finding.h"
#include "attune/formats/miopen/kernel_db.h"

namespace attune::miopen {

// Calls `visit` for each row, in order of its id, in its stored form: blobs are not unpacked.
// Invalid rows are findings. Keeps one row in memory, because a database may have hundreds of
// megabytes. A failure of `visit` ends the reading and is returned.
Status ReadKernels(const std::filesystem::path& path, Findings& findings,
                   const std::function<Status(const KernelRow&)>& visit);

// Writes a database. An existing file at its path stays until Commit().
class KernelWriter {
 public:
  static Result<std::unique_ptr<KernelWriter>> Create(const std::filesystem::path& path);
  virtual ~KernelWriter() = default;

  // Replaces a row of the same name and options. Ignores `id`.
  virtual Status Add(const KernelRow& row) = 0;
  virtual Status Commit() = 0;
};

}  // namespace attune::miopen
