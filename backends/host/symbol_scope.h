// What the dynamic linker binds names to. A library that is loaded with RTLD_LOCAL still looks its
// own names up in the program's global scope first
// (docs/design/0047-libraries-without-deepbind.md).
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace attune::host {

// A definition of a name.
struct Definition {
  std::string name;
  std::string path;  // Of the object that defines it, symbolic links resolved.
};

// The first of `names` that the global scope defines: the program, what it is linked with, what is
// preloaded, and what was opened with RTLD_GLOBAL. The name is empty if it defines none.
Definition FindInGlobalScope(const std::vector<std::string>& names);

// The path of the object around `address`, symbolic links resolved; of the program where that is
// it. Empty if no object is there.
std::string PathOfObjectAt(const void* address);

// Whether both addresses lie in the same loaded object.
bool AreInOneObject(const void* first, const void* second);

// The first name that the object around `address` defines and refers to, and that is bound to
// another object all the same; its path is that of the other one. Names that `is_shared` accepts
// are left out. The name is empty if there is none. Walks every relocation: some 300 us.
Definition FindForeignBinding(const void* address,
                              const std::function<bool(std::string_view)>& is_shared);

}  // namespace attune::host
