#include "attune/base/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "attune/base/file.h"

namespace attune {
namespace {

constexpr size_t kChunkBytes = 64 * 1024;
// The largest window, and "a gzip header comes first".
constexpr int kGzipWindow = MAX_WBITS + 16;

// Ends the stream of zlib with the scope.
class Inflater {
 public:
  explicit Inflater(std::string_view bytes)
      : is_ready_(inflateInit2(&stream_, kGzipWindow) == Z_OK) {
    // zlib does not write through this pointer; its interface is older than const.
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream_.avail_in = static_cast<uInt>(bytes.size());
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater() {
    if (is_ready_) inflateEnd(&stream_);
  }

  bool is_ready() const { return is_ready_; }
  z_stream& stream() { return stream_; }

 private:
  z_stream stream_ = {};
  const bool is_ready_;
};

}  // namespace

bool IsGzip(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }

Result<std::string> Gunzip(std::string_view bytes, size_t max_bytes) {
  if (bytes.size() > std::numeric_limits<uInt>::max()) {
    return ResourceExhausted(fmt::format("{} packed bytes are too many.", bytes.size()));
  }
  Inflater inflater(bytes);
  if (!inflater.is_ready()) return Internal("zlib cannot be used.");
  z_stream& stream = inflater.stream();
  std::string content;
  while (true) {
    const size_t before = content.size();
    content.resize(before + kChunkBytes);
    stream.next_out = reinterpret_cast<Bytef*>(content.data() + before);
    stream.avail_out = kChunkBytes;
    const int code = inflate(&stream, Z_NO_FLUSH);
    content.resize(before + kChunkBytes - stream.avail_out);
    if (content.size() > max_bytes) {
      return ResourceExhausted(
          fmt::format("More than {} bytes come out of a packed file.", max_bytes));
    }
    if (code == Z_STREAM_END) {
      if (stream.avail_in == 0) return content;
      if (inflateReset(&stream) != Z_OK) return Internal("zlib cannot go on with the next file.");
    } else if (code != Z_OK) {
      // Z_BUF_ERROR: there is nothing left to read, and the end was not seen.
      return DataLoss(fmt::format("A packed file is {} at byte {}.",
                                  code == Z_BUF_ERROR ? "cut off" : "damaged",
                                  bytes.size() - stream.avail_in));
    }
  }
}

Result<std::string> ReadFileUnpacked(const std::filesystem::path& path) {
  ATTUNE_ASSIGN_OR_RETURN(std::string content, ReadFile(path));
  if (!IsGzip(content)) return content;
  auto unpacked = Gunzip(content);
  if (!unpacked.ok()) return unpacked.error().WithContext(path.string());
  return unpacked;
}

Result<std::string> Gzip(std::string_view bytes) {
  z_stream stream = {};
  // Level 1: real data hardly shrinks further, and capturing has a program wait.
  constexpr int kLevel = 1;
  constexpr int kMemory = 8;  // zlib's default.
  if (deflateInit2(&stream, kLevel, Z_DEFLATED, kGzipWindow, kMemory, Z_DEFAULT_STRATEGY) != Z_OK) {
    return Internal("zlib cannot be used.");
  }
  std::string packed;
  std::string chunk(kChunkBytes, '\0');
  int code = Z_OK;
  while (code == Z_OK) {
    // zlib counts in 32 bits.
    const size_t taken = std::min<size_t>(bytes.size(), size_t{1} << 30);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(taken);
    const bool is_last = taken == bytes.size();
    do {
      stream.next_out = reinterpret_cast<Bytef*>(chunk.data());
      stream.avail_out = static_cast<uInt>(chunk.size());
      code = deflate(&stream, is_last ? Z_FINISH : Z_NO_FLUSH);
      packed.append(chunk, 0, chunk.size() - stream.avail_out);
    } while (code == Z_OK && (stream.avail_in > 0 || is_last));
    bytes.remove_prefix(taken);
  }
  deflateEnd(&stream);
  if (code != Z_STREAM_END) return Internal("zlib did not come to an end.");
  return packed;
}

}  // namespace attune
