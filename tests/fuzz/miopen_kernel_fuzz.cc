// Any bytes as the blob of a kernel: unpacked within the size of its row, or refused. And as code:
// packed, it comes back.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "attune/formats/miopen/kernel_db.h"
#include "tests/fuzz/fuzz_check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr int64_t kMaxBytes = int64_t{1} << 18;
  if (size < 3) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  attune::miopen::KernelRow row;
  // Little, because unpacking more finds nothing else and takes most of the time; several chunks.
  row.code_bytes = (data[0] | data[1] << 8 | data[2] << 16) % kMaxBytes;
  row.blob = bytes.substr(3);
  attune::miopen::Findings findings;
  CheckKernel(row, findings);
  attune::FuzzCheck(findings.total() == 1);  // No code has an empty hash.
  if (findings.count(attune::miopen::FindingKind::kHashMismatch) == 1 && row.code_bytes == 0) {
    row.hash = attune::miopen::HashOf(row.blob);
    attune::FuzzCheck(CodeOf(row).ok() && *CodeOf(row) == row.blob);
  }

  if (!attune::IsOneInEight(bytes)) return 0;
  const auto packed = attune::miopen::RowFor("a.o", "", bytes);
  attune::FuzzCheck(packed.ok() && packed->blob.size() <= bytes.size());
  const auto code = CodeOf(*packed);
  attune::FuzzCheck(code.ok() && *code == bytes);
  return 0;
}
