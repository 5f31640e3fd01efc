#include "attune/replay/gunzip.h"

#include <zlib.h>

#include <algorithm>
#include <limits>

#include <fmt/format.h>

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
                                  code == Z_BUF_ERROR ? "cut off" : "damaged", stream.total_in));
    }
  }
}

}  // namespace attune
