// Where functions are among the objects that a process has loaded.
#pragma once

#include <cstdint>

namespace attune::interposer {

// The addresses of one loaded object.
struct CodeRange {
  uintptr_t begin = UINTPTR_MAX;
  uintptr_t end = 0;

  bool contains(const void* address) const {
    const auto value = reinterpret_cast<uintptr_t>(address);
    return value >= begin && value < end;
  }
};

// That of the object around `address`; one that contains nothing if there is none.
CodeRange RangeAround(const void* address);

// True if `path` depends on the current folder. A name without a slash does not: the loader
// searches for it.
bool IsRelative(const char* path);

// Copies the loader's name of the library around `address`. Returns false for the program itself,
// and if `name`, which has `size` bytes, is too small.
bool NameOfObject(const void* address, char* name, uint64_t size);

// What `caller`, an address in the program or library that calls, would have been bound to if this
// library were not preloaded: the next definition in the global scope, else one in the dependencies
// of the calling object (a library opened RTLD_LOCAL, as Python does), else of any loaded object.
// The library in the variable _REAL of the interposer comes before all of them; if it lacks the
// function, the process ends. Null if there is none.
void* FindRealIfAny(const char* name, const void* caller);

// The same, and ends the process if there is none: for functions that cannot fail.
void* FindReal(const char* name, const void* caller);

// `name` in the object that defines `function`, or in what that depends on; null if there is none.
void* FindBeside(const void* function, const char* name);

// The path of a loaded object other than this one that defines `name`, or null. `path` has room for
// `size` bytes.
const char* DefiningObject(const char* name, char* path, uint64_t size);

}  // namespace attune::interposer
