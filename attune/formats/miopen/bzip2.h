// Unpacks bzip2: databases as MIOpen's repository has them (`gfx906_60.db.txt.bz2`), and the
// kernels in its kernel dbs.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "attune/base/status.h"

namespace attune::miopen {

// Endings of packed files.
inline constexpr std::string_view kBzip2Ending = ".bz2";

// The result of reading one stream.
struct Bzip2End {
  int error = 0;          // From bzlib; BZ_STREAM_END if the stream is complete.
  size_t read_bytes = 0;  // Packed bytes.
};

// Unpacks the stream at the beginning of `packed` and appends it to `bytes`, until that has
// `max_bytes`: BZ_OUTBUFF_FULL if the stream has more. Allocates as bytes arrive and trusts no size
// in a file, so that a small file cannot claim a gigabyte.
Bzip2End AppendUnpacked(std::string_view packed, size_t max_bytes, std::string& bytes);

// All streams of `packed`, one after the other, as bzip2 itself unpacks them. kDataLoss names the
// byte where it is no bzip2, damaged or truncated; kResourceExhausted for more than `max_bytes`.
Result<std::string> Unpacked(std::string_view packed, size_t max_bytes);

bool IsPacked(const std::filesystem::path& path);

// The file, unpacked if its name has the ending of a packed one. `max_bytes` holds before and
// after. Fails as ReadFile and Unpacked do.
Result<std::string> ReadUnpacked(const std::filesystem::path& path, size_t max_bytes);

}  // namespace attune::miopen
