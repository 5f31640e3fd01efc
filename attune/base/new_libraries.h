// Keeps an exit of the process from destroying static objects of libraries that threads still use.
#pragma once

#include <cstdint>
#include <vector>

namespace attune {

// oneDNN, CLBlast, LLVM and Clang construct static objects in the middle of calls and register
// their destructors there, behind every exit handler of attune. An exit that begins meanwhile runs
// these destructors first, while other threads use the objects.
//
//   const NewLibraries libraries;
//   dlopen(...);
//   libraries.KeepStaticObjects();
class NewLibraries {
 public:
  // Notes the libraries that the process has loaded. The program may use them, so they do not
  // change.
  NewLibraries();

  // From here on the libraries named above register no destructors if the process has loaded them
  // since the constructor: their objects stay until the process is gone. Does nothing where the
  // system does not allow it.
  void KeepStaticObjects() const;

 private:
  std::vector<uintptr_t> loaded_before_;  // Where they begin.
};

}  // namespace attune
