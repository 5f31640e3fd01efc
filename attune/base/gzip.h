// Packs and unpacks as gzip does.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "attune/base/status.h"

namespace attune {

// True if `bytes` begin like a gzip file.
bool IsGzip(std::string_view bytes);

// The content of `bytes`, which may be several packed files one after the other. kDataLoss if they
// are damaged or end too early; kResourceExhausted if more than `max_bytes` come out of them.
Result<std::string> Gunzip(std::string_view bytes, size_t max_bytes = size_t{1} << 30);

// The content of the file `path`, unpacked if it is packed. Fails as ReadFile() and Gunzip() do;
// the message names the file.
Result<std::string> ReadFileUnpacked(const std::filesystem::path& path);

// `bytes` as a packed file, by the fastest of zlib's levels. kInternal if zlib cannot be used.
Result<std::string> Gzip(std::string_view bytes);

}  // namespace attune
