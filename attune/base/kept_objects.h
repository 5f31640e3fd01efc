// Keeps an exit of the process from destroying what libraries construct while they are called.
#pragma once

#include <cstdint>
#include <vector>

namespace attune {

// oneDNN, CLBlast, LLVM and Clang construct static objects in the middle of calls, and register
// their destructors there, behind everything that attune has registered. An exit that begins
// meanwhile destroys them first, while other threads use them.
//
//   const LibrariesBefore before;
//   dlopen(...);
//   before.KeepObjectsOfNewOnes();
class LibrariesBefore {
 public:
  // Notes which libraries the process has loaded. The program may use them, so they stay as they
  // are.
  LibrariesBefore();

  // From here on those of the libraries above that were loaded since register no destructors: what
  // they construct stays until the process is gone. Does nothing where the system does not allow
  // it.
  void KeepObjectsOfNewOnes() const;

 private:
  std::vector<uintptr_t> beginnings_;
};

}  // namespace attune
