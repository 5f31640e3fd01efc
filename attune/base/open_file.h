// Opens files inside of programs that may run with descriptors 0 to 2 closed.
#pragma once

#include <sys/types.h>

#include <filesystem>

#include "attune/base/open_above_standard.h"
#include "attune/base/unique_fd.h"

namespace attune {

// open(2) with O_CLOEXEC, and never as descriptor 0, 1 or 2: output of the program would land in
// the file. Invalid with the reason in errno.
UniqueFd OpenFile(const std::filesystem::path& path, int flags, mode_t mode = 0);

}  // namespace attune
