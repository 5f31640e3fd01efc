// What bzip2 packed: databases as MIOpen's repository has them (`gfx906_60.db.txt.bz2`), and the
// kernels in its kernel dbs.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "attune/base/status.h"

namespace attune::miopen {

// How the names of packed files end.
inline constexpr std::string_view kBzip2Ending = ".bz2";

// How reading one stream ended.
struct Bzip2End {
  int error = 0;          // Of bzlib; BZ_STREAM_END if it is whole.
  size_t read_bytes = 0;  // Of what was packed.
};

// Appends what the stream at the beginning of `packed` holds to `bytes`, until that has
// `max_bytes`: BZ_OUTBUFF_FULL if the stream goes on. No size that a file claims is believed before
// so many bytes are there, so that a small one cannot ask for a gigabyte.
Bzip2End AppendUnpacked(std::string_view packed, size_t max_bytes, std::string& bytes);

// All streams of `packed`, one after the other, as bzip2 itself unpacks them. kDataLoss says at
// which byte it is no bzip2, damaged or cut off; kResourceExhausted for more than `max_bytes`.
Result<std::string> Unpacked(std::string_view packed, size_t max_bytes);

bool IsPacked(const std::filesystem::path& path);

// The file, unpacked if its name says that it is packed. `max_bytes` holds before and after. Fails
// as ReadFile and Unpacked do.
Result<std::string> ReadUnpacked(const std::filesystem::path& path, size_t max_bytes);

}  // namespace attune::miopen
