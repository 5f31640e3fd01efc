#include "backends/host/symbol_scope.h"

#include <dlfcn.h>

#include "attune/base/loaded_object.h"

namespace attune::host {

std::string PathOfObjectAt(const void* address) { return LoadedObject::At(address).path(); }

Definition FindInGlobalScope(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const void* found = ::dlsym(RTLD_DEFAULT, name.c_str());
    if (found != nullptr) return {name, PathOfObjectAt(found)};
  }
  return {};
}

bool AreInOneObject(const void* first, const void* second) {
  Dl_info first_info{}, second_info{};
  return ::dladdr(first, &first_info) != 0 && ::dladdr(second, &second_info) != 0 &&
         first_info.dli_fbase == second_info.dli_fbase;
}

Definition FindForeignBinding(const void* address,
                              const std::function<bool(std::string_view)>& is_shared) {
  const LoadedObject object = LoadedObject::At(address);
  Definition foreign;
  object.VisitBindings([&](const Binding& binding) {
    if (binding.symbol.st_shndx == SHN_UNDEF || object.contains(binding.address) ||
        is_shared(binding.name)) {
      return false;
    }
    foreign = {binding.name, PathOfObjectAt(reinterpret_cast<const void*>(binding.address))};
    return true;
  });
  return foreign;
}

}  // namespace attune::host
