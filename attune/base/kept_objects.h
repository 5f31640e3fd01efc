// Keeps an exit of the process from destroying what libraries construct while they are called.
#pragma once

namespace attune {

// oneDNN, CLBlast, LLVM and Clang construct static objects in the middle of calls, and register
// their destructors there, behind everything that attune has registered. An exit that begins
// meanwhile destroys them first, while other threads use them. From here on those of these
// libraries that were loaded since KeepForeignObjects() register no destructors: the system takes
// what they keep. Returns true if any library was loaded since the last call. Thread-safe, and
// cheap if none was.
bool KeepObjectsOfNewLibraries();

// Leaves libraries alone that are loaded now: the program uses them. Only the first call does
// something.
void KeepForeignObjects();

}  // namespace attune
