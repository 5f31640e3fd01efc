// A shared object opened at run time, beside others that export the same names.
#pragma once

#include <string>
#include <vector>

#include "attune/base/status.h"

namespace attune::host {

struct Definition;

// A library that keeps state under names that it exports.
struct LibraryFiles {
  std::vector<std::string> names;  // File names or paths, tried in this order.
  // Names that every copy of it exports and no other library does.
  std::vector<std::string> own_symbols;
  // True if another copy, which the program itself uses, may replace it.
  bool may_be_programs_own = true;
};

// Opened with RTLD_LOCAL, so that its symbols serve no other library. Its calls of names that it
// exports look in the global scope of the program first. So attune uses no function that calls a
// name which other libraries define, too. Never closed: libraries that keep threads do not survive
// it. A value: copies refer to the same object.
class SharedLibrary {
 public:
  // Opens the first of `names` (file names or paths) that can be opened. Uses an object that is
  // already in this process as it is. kUnavailable gives the reason for each name.
  static Result<SharedLibrary> Open(const std::vector<std::string>& names);

  // Like Open(), but loads no second copy if the global scope defines one of `files.own_symbols`,
  // because the second copy would bind to parts of the first. It uses the defining object or fails.
  static Result<SharedLibrary> OpenUnmixed(const LibraryFiles& files);

  // Returns true if OpenUnmixed() would use an object that is already in this process.
  static bool IsInProcess(const LibraryFiles& files);

  // The path of the object loaded as `name`, with symbolic links resolved; empty if there is none.
  static std::string PathOfLoaded(const std::string& name);

  // The address of `name`, or null.
  void* Find(const char* name) const;
  template <class Function>
  Function* FindFunction(const char* name) const {
    return reinterpret_cast<Function*>(Find(name));
  }

  // The address of `name`, or null, only in the object around `address`. Its dependencies define
  // other things under the same names.
  void* FindBeside(const void* address, const char* name) const;

  // From here on the exit of the process calls none of the functions that the object lists for it
  // (DT_FINI_ARRAY). For a library that waits there for threads of its own, while threads of the
  // program may still compute with it. Does nothing where the system does not allow it. REQUIRES:
  // !was_loaded().
  void SkipExitCode() const;

  // Returns true if the process had loaded it already: then it has other users.
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
