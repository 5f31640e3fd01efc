// Where in the file of a user's kernel an error is: path, line, column and JSON pointer.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "attune/base/status.h"

namespace attune::kernel {

// "<path>:<line>:<column>" of the value that `pointer` names. REQUIRES: `json` is JSON.
std::string PathAt(const std::filesystem::path& path, std::string_view json,
                   std::string_view pointer);

// Replaces a JSON pointer at the start of the message of `status`, into `json`, which was read from
// `path`, by the path, the line and the column.
Status AtPointer(const Status& status, const std::filesystem::path& path, std::string_view json);

// The same for T1: the pointer is into the kernel file that `json` is read as, and becomes that of
// the same place in `json`.
Status AtPointerInT1(const Status& status, const std::filesystem::path& path,
                     std::string_view json);

// AtPointer or AtPointerInT1, as the file at `path` needs. For errors in files that LoadKernelFile
// has read.
Status AtPlaceIn(const std::filesystem::path& path, const Status& status);

}  // namespace attune::kernel
