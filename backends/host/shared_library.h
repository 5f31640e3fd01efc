// A shared object opened at run time, beside others that export the same names.
#pragma once

#include <string>
#include <vector>

#include "attune/base/status.h"

namespace attune::host {

// Opened with RTLD_LOCAL, so that its symbols serve nobody else, and RTLD_DEEPBIND, so that its own
// calls find its own symbols first. Never closed: libraries that keep threads do not survive it. A
// value: copies refer to the same object.
class SharedLibrary {
 public:
  // Opens the first of `names` (file names or paths) that can be; kUnavailable gives the reason of
  // each.
  static Result<SharedLibrary> Open(const std::vector<std::string>& names);

  // Whether one of `names` is in this process already.
  static bool IsLoaded(const std::vector<std::string>& names);

  // The address of `name`, or null.
  void* Find(const char* name) const;
  template <class Function>
  Function* FindFunction(const char* name) const {
    return reinterpret_cast<Function*>(Find(name));
  }

  // Where it was found, symbolic links resolved.
  const std::string& path() const { return path_; }
  // The GNU build-id note of the loaded object in hexadecimal, or "xxh3-" and the fingerprint of
  // its file if it has none.
  const std::string& build_id() const { return build_id_; }

 private:
  explicit SharedLibrary(void* handle);

  void* handle_;
  std::string path_;
  std::string build_id_;
};

}  // namespace attune::host
