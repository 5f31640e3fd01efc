#include "attune/formats/miopen/kernel_db.h"

#include <bzlib.h>
#include <openssl/evp.h>

#include <utility>

#include <fmt/format.h>

#include "attune/formats/miopen/bzip2.h"

namespace attune::miopen {
namespace {

constexpr int kBlockSize100k = 9;
constexpr int kWorkFactor = 30;
constexpr int kQuiet = 0;

// bzlib takes no pointer to const, and does not write through this one.
char* Unconst(std::string_view bytes) { return const_cast<char*>(bytes.data()); }

Result<std::string> Unpacked(const KernelRow& row) {
  if (row.code_bytes == 0) return row.blob;
  if (row.code_bytes < 0 || row.code_bytes > kMaxCodeBytes || row.blob.size() > kMaxCodeBytes) {
    return DataLoss(fmt::format("Kernel '{}' says that it has {} bytes; kernels have 1 to {}.",
                                row.name, row.code_bytes, kMaxCodeBytes));
  }
  std::string code;
  // Bytes behind the stream are ignored.
  const int error = AppendUnpacked(row.blob, static_cast<size_t>(row.code_bytes), code).error;
  if (error == BZ_STREAM_END && code.size() == static_cast<size_t>(row.code_bytes)) return code;
  if (error == BZ_OUTBUFF_FULL) {
    return DataLoss(fmt::format("Kernel '{}' unpacks to more than the {} bytes of its row.",
                                row.name, row.code_bytes));
  }
  return DataLoss(error == BZ_STREAM_END
                      ? fmt::format("Kernel '{}' unpacks to {} bytes, not to the {} of its row.",
                                    row.name, code.size(), row.code_bytes)
                      : fmt::format("Kernel '{}' is no bzip2 of {} bytes (error {} of bzlib).",
                                    row.name, row.code_bytes, error));
}

Status CheckHash(const KernelRow& row, std::string_view code) {
  const std::string hash = HashOf(code);
  if (hash == row.hash) return Status::Ok();
  return DataLoss(
      fmt::format("Kernel '{}' has MD5 {}, not the '{}' of its row.", row.name, hash, row.hash));
}

}  // namespace

std::string HashOf(std::string_view code) {
  unsigned char digest[EVP_MAX_MD_SIZE] = {};
  unsigned int size = 0;
  if (EVP_Digest(code.data(), code.size(), digest, &size, EVP_md5(), nullptr) != 1) return "";
  std::string hex;
  for (unsigned int i = 0; i < size; ++i) {
    fmt::format_to(std::back_inserter(hex), "{:02x}", digest[i]);
  }
  return hex;
}

Result<std::string> CodeOf(const KernelRow& row) {
  ATTUNE_ASSIGN_OR_RETURN(std::string code, Unpacked(row));
  ATTUNE_RETURN_IF_ERROR(CheckHash(row, code));
  return code;
}

Result<KernelRow> RowFor(std::string name, std::string options, std::string_view code) {
  if (code.empty() || code.size() > kMaxCodeBytes) {
    return InvalidArgument(fmt::format("Kernel '{}' has {} bytes; kernels have 1 to {}.", name,
                                       code.size(), kMaxCodeBytes));
  }
  KernelRow row{std::move(name),
                std::move(options),
                std::string(code.size(), '\0'),
                HashOf(code),
                static_cast<int64_t>(code.size()),
                0};
  if (row.hash.empty()) return Internal("OpenSSL gives no MD5: it may be barred by a FIPS policy.");
  auto size = static_cast<unsigned int>(row.blob.size());
  const int error = BZ2_bzBuffToBuffCompress(row.blob.data(), &size, Unconst(code),
                                             static_cast<unsigned int>(code.size()), kBlockSize100k,
                                             kQuiet, kWorkFactor);
  if (error == BZ_OUTBUFF_FULL) {
    row.blob = code;
    row.code_bytes = 0;
    return row;
  }
  if (error != BZ_OK) {
    return Internal(fmt::format("bzlib cannot compress kernel '{}' of {} bytes: error {}.",
                                row.name, code.size(), error));
  }
  row.blob.resize(size);
  return row;
}

bool CheckKernel(const KernelRow& row, Findings& findings) {
  const auto line = static_cast<uint64_t>(row.id);
  const auto code = Unpacked(row);
  if (!code.ok()) {
    findings.Add(FindingKind::kBadKernel, line, code.error().message());
    return false;
  }
  const Status hash = CheckHash(row, *code);
  if (!hash.ok()) findings.Add(FindingKind::kHashMismatch, line, hash.message());
  return hash.ok();
}

}  // namespace attune::miopen
