// Kernel databases as the SQLite table that they are. docs/formats/miopen.md.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>

#include "attune/base/status.h"
#include "attune/formats/miopen/finding.h"
#include "attune/formats/miopen/kernel_db.h"

namespace attune::miopen {

// Calls `visit` for each row, in order of its id, as it is stored: blobs are not unpacked. Rows
// that cannot be are findings. A database may have hundreds of megabytes, of which one row is in
// memory. A failure of `visit` ends the reading and is returned.
Status ReadKernels(const std::filesystem::path& path, Findings& findings,
                   const std::function<Status(const KernelRow&)>& visit);

// Writes a database. What was at its path stays until Commit().
class KernelWriter {
 public:
  static Result<std::unique_ptr<KernelWriter>> Create(const std::filesystem::path& path);
  virtual ~KernelWriter() = default;

  // Replaces a row of the same name and options. `id` does not count.
  virtual Status Add(const KernelRow& row) = 0;
  virtual Status Commit() = 0;
};

}  // namespace attune::miopen
