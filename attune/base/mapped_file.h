// The file behind an address of this process, as the kernel has it. Needs the C library alone,
// because preload libraries compile it, too.
#pragma once

#include <cstddef>

namespace attune {

enum class MappedFile {
  kFound,
  kNoProc,        // /proc is not mounted, or cannot be read.
  kNoDescriptor,  // Too many files are open.
  kOtherRoot,     // The process has changed its root: paths may lead to the files of others.
  kNone,          // No file is mapped there, or its path is longer than the room for it.
  kReplaced,      // The file was deleted or replaced after it was mapped.
};

// Writes the absolute path of the file that is mapped at `address` to `path`, which has room for
// `size` bytes. Independent of argv[0], of the current folder and of the name by which the loader
// knows the file. kFound promises that the path names the mapped file now.
[[gnu::visibility("hidden")]] MappedFile FindMappedFile(const void* address, char* path,
                                                        size_t size);

// "/proc is not mounted", and so on, for messages. REQUIRES: not kFound.
[[gnu::visibility("hidden")]] const char* Reason(MappedFile failure);

}  // namespace attune
