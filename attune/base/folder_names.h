// The names in an open folder, read without heap memory. A process that ends inside malloc() can
// call it, too.
#pragma once

#include <dirent.h>
#include <fcntl.h>

#include <string_view>

#include "attune/base/open_file.h"
#include "attune/base/unique_fd.h"

namespace attune {

// Calls `visit` with each name in `folder` until `visit` returns false. `visit` may remove the
// name. The position of `folder` does not change.
template <class Visit>
void ForEachName(int folder, const Visit& visit) {
  const UniqueFd names = AboveStandard(
      UniqueFd(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)));
  constexpr size_t kBlockBytes = 2048;  // The stack may be that of a signal handler.
  alignas(dirent64) char block[kBlockBytes];
  ssize_t size = 0;
  while (names.valid() && (size = ::getdents64(names.get(), block, sizeof block)) > 0) {
    for (ssize_t at = 0; at < size;) {
      const auto* entry = reinterpret_cast<const dirent64*>(block + at);
      if (!visit(std::string_view(entry->d_name))) return;
      at += entry->d_reclen;
    }
  }
}

}  // namespace attune
