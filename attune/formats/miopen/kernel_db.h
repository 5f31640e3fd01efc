// Kernel databases: compiled programs by source file and options. docs/formats/miopen.md. The table
// itself is read and written in storage/miopen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/formats/miopen/finding.h"

namespace attune::miopen {

// A row as it is stored.
struct KernelRow {
  std::string name;        // Name of the source, with ".o": "conv1x1u.s.o".
  std::string options;     // Compiler options, then " -mcpu=<arch>" unless the source is MLIR.
  std::string blob;        // The code object, or bzip2 of it.
  std::string hash;        // MD5 of the code object, 32 lower-case hexadecimal digits.
  int64_t code_bytes = 0;  // Size of the code object if the blob is compressed; 0 if it is not.
  int64_t id = 0;          // Row id; 0 if it is from no table.

  friend bool operator==(const KernelRow&, const KernelRow&) = default;
};

// Larger code objects are refused: the largest in MIOpen's own databases has some ten megabytes.
inline constexpr int64_t kMaxCodeBytes = int64_t{1} << 30;

// MD5 as 32 lower-case hexadecimal digits.
std::string HashOf(std::string_view code);

// The code object of a row. kDataLoss if the blob is not bzip2 of that size, or the code does not
// have the hash of the row.
Result<std::string> CodeOf(const KernelRow& row);

// The row for a code object, compressed as MIOpen compresses it (blocks of 900 kB), or uncompressed
// if that is not larger.
Result<KernelRow> RowFor(std::string name, std::string options, std::string_view code);

// Returns true if CodeOf succeeds; else adds a finding of the row's id.
bool CheckKernel(const KernelRow& row, Findings& findings);

}  // namespace attune::miopen
