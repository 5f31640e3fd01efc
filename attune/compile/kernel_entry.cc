#include "attune/compile/kernel_entry.h"

#include <cstddef>
#include <cstdint>

namespace attune {
namespace {

constexpr std::string_view kMagic = "ATTNKERN";
constexpr uint32_t kEntryVersion = 1;
constexpr size_t kHeaderBytes = 56;

void AppendLittleEndian(std::string& bytes, uint64_t value, int size_bytes) {
  for (int i = 0; i < size_bytes; ++i) bytes += static_cast<char>((value >> (8 * i)) & 0xFF);
}

void AppendFingerprint(std::string& bytes, const Fingerprint& fingerprint) {
  AppendLittleEndian(bytes, fingerprint.high, 8);
  AppendLittleEndian(bytes, fingerprint.low, 8);
}

}  // namespace

std::string EncodeKernelHeader(const Fingerprint& key, std::string_view payload) {
  std::string header(kMagic);
  AppendLittleEndian(header, kEntryVersion, 4);
  AppendLittleEndian(header, kHeaderBytes, 4);
  AppendFingerprint(header, key);
  AppendFingerprint(header, FingerprintOf(payload));
  AppendLittleEndian(header, payload.size(), 8);
  return header;
}

// The payload of an intact entry of `key`. Every byte of a header follows from key and payload, so
// the check is that it is the one which would be written.
std::optional<std::string> DecodeKernelEntry(const Fingerprint& key, std::string content) {
  if (content.size() < kHeaderBytes) return std::nullopt;
  const std::string_view payload = std::string_view(content).substr(kHeaderBytes);
  if (EncodeKernelHeader(key, payload) != std::string_view(content).substr(0, kHeaderBytes)) {
    return std::nullopt;
  }
  return content.substr(kHeaderBytes);
}

}  // namespace attune
