// Finds how the dynamic linker binds names. A library that is loaded with RTLD_LOCAL still searches
// the global scope of the program first for its own names
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
  std::string path;  // The defining object, with symbolic links resolved.
};

// Finds the first of `names` that the global scope defines. That scope holds the program, its
// linked libraries, preloaded libraries and objects opened with RTLD_GLOBAL. The name is empty if
// none is defined.
Definition FindInGlobalScope(const std::vector<std::string>& names);

// The path of the object or program around `address`, with symbolic links resolved. Empty if no
// object is there.
std::string PathOfObjectAt(const void* address);

// Returns true if both addresses lie in the same loaded object.
bool AreInOneObject(const void* first, const void* second);

// Finds the first name that the object around `address` defines and refers to, but that is bound to
// another object. `path` is that other object. Skips names that `is_shared` accepts. The name is
// empty if there is none. Walks every relocation: some 300 us.
Definition FindForeignBinding(const void* address,
                              const std::function<bool(std::string_view)>& is_shared);

}  // namespace attune::host
