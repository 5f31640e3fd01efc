// The file behind an address of this process, as the kernel reports it. Needs the C library alone,
// because preload libraries compile it, too.
#pragma once

#include <cstddef>

namespace attune {

enum class MappedFile {
  kFound,
  kNoProc,        // /proc is not mounted, or cannot be read.
  kNoDescriptor,  // Too many files are open.
  kOtherRoot,     // The process has changed its root, so paths may name other files.
  kNone,          // No file is mapped there, or `path` is too small.
  kReplaced,      // The file was deleted or replaced after it was mapped.
};

// Writes the absolute path of the file that is mapped at `address` to `path`, which has `size`
// bytes. Independent of argv[0], the current folder and the name that the loader uses. kFound
// promises that the path names the mapped file now.
[[gnu::visibility("hidden")]] MappedFile FindMappedFile(const void* address, char* path,
                                                        size_t size);

// "/proc is not mounted", and so on, for messages. REQUIRES: not kFound.
[[gnu::visibility("hidden")]] const char* Reason(MappedFile failure);

}  // namespace attune
