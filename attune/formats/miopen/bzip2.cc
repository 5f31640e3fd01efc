#include "attune/formats/miopen/bzip2.h"

#include <bzlib.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <new>

#include <fmt/format.h>

#include "attune/base/file.h"

namespace attune::miopen {
namespace {

constexpr int kQuiet = 0;
// First allocation: most kernels unpack to less.
constexpr size_t kFirstChunkBytes = size_t{1} << 16;
constexpr size_t kChunkBytes = size_t{1} << 20;

std::string_view WhyNot(int error) {
  switch (error) {
    case BZ_DATA_ERROR_MAGIC:
      return "is no bzip2";
    case BZ_DATA_ERROR:
      return "is damaged";
    case BZ_UNEXPECTED_EOF:
      return "ends too early";
    default:
      return "cannot be unpacked";
  }
}

}  // namespace

Bzip2End AppendUnpacked(std::string_view packed, size_t max_bytes, std::string& bytes) {
  bz_stream stream = {};
  if (const int error = BZ2_bzDecompressInit(&stream, kQuiet, 0); error != BZ_OK) return {error, 0};
  const std::unique_ptr<bz_stream, decltype(&BZ2_bzDecompressEnd)> end(&stream,
                                                                       BZ2_bzDecompressEnd);
  size_t given = 0;  // Passed to the library, which has 32-bit counts.
  for (;;) {
    if (stream.avail_in == 0 && given < packed.size()) {
      const size_t part = std::min<size_t>(packed.size() - given, std::numeric_limits<int>::max());
      // bzlib takes no pointer to const, and does not write through this one.
      stream.next_in = const_cast<char*>(packed.data() + given);
      stream.avail_in = static_cast<unsigned int>(part);
      given += part;
    }
    const size_t had = bytes.size();
    bytes.resize(std::min(max_bytes, had + std::clamp(had, kFirstChunkBytes, kChunkBytes)));
    stream.next_out = bytes.data() + had;
    stream.avail_out = static_cast<unsigned int>(bytes.size() - had);
    const int error = BZ2_bzDecompress(&stream);
    bytes.erase(bytes.size() - stream.avail_out);
    const size_t read = given - stream.avail_in;
    if (error != BZ_OK) return {error, read};
    if (bytes.size() == max_bytes) return {BZ_OUTBUFF_FULL, read};
    if (stream.avail_out > 0 && read == packed.size()) return {BZ_UNEXPECTED_EOF, read};
  }
}

Result<std::string> Unpacked(std::string_view packed, size_t max_bytes) try {
  std::string bytes;
  size_t at = 0;
  do {
    // One more than the limit, so that data of exactly that size is accepted.
    const Bzip2End end = AppendUnpacked(packed.substr(at), max_bytes + 1, bytes);
    at += end.read_bytes;
    if (bytes.size() > max_bytes) {
      return ResourceExhausted(
          fmt::format("It unpacks to more than {} bytes, the most that is read.", max_bytes));
    }
    if (end.error != BZ_STREAM_END) {
      return DataLoss(fmt::format("It {} at byte {} of {}.", WhyNot(end.error), at, packed.size()));
    }
  } while (at < packed.size());
  return bytes;
} catch (const std::bad_alloc&) {
  return ResourceExhausted("There is no memory for what it unpacks to.");
}

bool IsPacked(const std::filesystem::path& path) {
  return path.filename().string().ends_with(kBzip2Ending);
}

Result<std::string> ReadUnpacked(const std::filesystem::path& path, size_t max_bytes) {
  ATTUNE_ASSIGN_OR_RETURN(std::string content, ReadFile(path, max_bytes));
  if (!IsPacked(path)) return content;
  auto unpacked = Unpacked(content, max_bytes);
  if (unpacked.ok()) return unpacked;
  return Status(unpacked.error().code(),
                fmt::format("Cannot unpack '{}'. {}", path.string(), unpacked.error().message()));
}

}  // namespace attune::miopen
