// A shared object opened at run time, beside others that export the same names.
#pragma once

#include <string>
#include <vector>

#include "attune/base/status.h"

namespace attune::host {

struct Definition;

// A library that keeps state of its own under names that it exports.
struct LibraryFiles {
  std::vector<std::string> names;  // File names or paths, tried in this order.
  // Names that every copy of it exports and nothing else does.
  std::vector<std::string> own_symbols;
  // Whether another copy, which the program itself uses, may take its place.
  bool may_be_programs_own = true;
};

// Opened with RTLD_LOCAL, so that its symbols serve nothing else. Its calls of names that it
// exports itself go to the program's global scope first, so nothing is used here that calls a name
// which other libraries define, too. Never closed: libraries that keep threads do not survive it. A
// value: copies refer to the same object.
class SharedLibrary {
 public:
  // Opens the first of `names` (file names or paths) that can be; one that is in this process
  // already is used as it is. kUnavailable gives the reason of each.
  static Result<SharedLibrary> Open(const std::vector<std::string>& names);

  // The same, but where the global scope defines one of `files.own_symbols`, nothing is loaded,
  // because a second copy would be bound to the first in parts: the object that defines it is used,
  // or none.
  static Result<SharedLibrary> OpenUnmixed(const LibraryFiles& files);

  // Whether OpenUnmixed() would use what is in this process already.
  static bool IsInProcess(const LibraryFiles& files);

  // The path of what is loaded under `name`, symbolic links resolved; empty if nothing is.
  static std::string PathOfLoaded(const std::string& name);

  // The address of `name`, or null.
  void* Find(const char* name) const;
  template <class Function>
  Function* FindFunction(const char* name) const {
    return reinterpret_cast<Function*>(Find(name));
  }

  // The address of `name`, or null, in the object around `address` alone: what this one depends on
  // defines other things under the same names.
  void* FindBeside(const void* address, const char* name) const;

  // Whether it was in the process before it was opened here: then it has other users.
  bool was_loaded() const { return was_loaded_; }
  // Where it was found, symbolic links resolved.
  const std::string& path() const { return path_; }
  // The GNU build-id note of the loaded object in hexadecimal, or "xxh3-" and the fingerprint of
  // its file if it has none.
  const std::string& build_id() const { return build_id_; }

 private:
  SharedLibrary(void* handle, bool was_loaded);
  static Result<SharedLibrary> OpenProgramsOwn(const LibraryFiles& files, const Definition& global);

  void* handle_;
  bool was_loaded_;
  std::string path_;
  std::string build_id_;
};

}  // namespace attune::host
