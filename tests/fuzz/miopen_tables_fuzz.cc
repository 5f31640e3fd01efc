// Any bytes as a SQLite file of MIOpen's: refused, or read; a parsed perf-db can be written and
// reads as the same.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>

#include "storage/miopen/kernel_table.h"
#include "storage/miopen/perf_tables.h"
#include "tests/fuzz/fuzz_check.h"

namespace attune::miopen {
namespace {

std::filesystem::path TemporaryFile(const char* name) {
  return std::filesystem::temp_directory_path() /
         fmt::format("attune_tables_fuzz_{}_{}", ::getpid(), name);
}

void CheckSame(const PerfTables& first, const PerfTables& second) {
  FuzzCheck(first.schema == second.schema && first.targets.size() == second.targets.size());
  for (size_t i = 0; i < first.targets.size(); ++i) {
    FuzzCheck(first.targets[i].target == second.targets[i].target);
    FuzzCheck(Text(first.targets[i].db) == Text(second.targets[i].db));
  }
}

void CheckReadsBack(const PerfTables& tables) {
  const std::filesystem::path path = TemporaryFile("again");
  FuzzCheck(WritePerfTables(path, tables).ok());
  Findings findings;
  const auto again = ReadPerfTables(path, findings);
  FuzzCheck(again.ok() && findings.count(FindingKind::kBadRow) == 0);
  CheckSame(tables, *again);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace attune::miopen

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace attune::miopen;  // NOLINT: this program is of that module alone.
  const std::filesystem::path path = TemporaryFile("read");
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  Findings findings;
  const auto tables = ReadPerfTables(path, findings);
  if (tables.ok()) CheckReadsBack(*tables);
  const attune::Status kernels = ReadKernels(path, findings, [](const KernelRow& row) {
    attune::FuzzCheck(!row.name.empty() && row.id > 0);
    Findings of_kernel;
    CheckKernel(row, of_kernel);
    return attune::Status::Ok();
  });
  static_cast<void>(kernels);
  std::filesystem::remove(path);
  return 0;
}
