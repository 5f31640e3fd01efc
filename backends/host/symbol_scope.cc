#include "backends/host/symbol_scope.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <cstdint>

#include "attune/base/code_folder.h"

namespace attune::host {
namespace {

#if defined(__x86_64__)
// Returns true if a relocation of this type holds the address of a symbol.
bool HoldsAddress(uint64_t type) {
  return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT || type == R_X86_64_64;
}
#else
#error "Name the relocations of this architecture that hold the address of a symbol."
#endif

// The tables of a loaded object that FindForeignBinding() reads.
struct SymbolTables {
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  const ElfW(Rela) * data = nullptr;
  size_t data_count = 0;
  const ElfW(Rela) * calls = nullptr;
  size_t call_count = 0;
};

SymbolTables TablesOf(const link_map& object) {
  SymbolTables tables;
  // The C library has replaced the file offsets by addresses.
  for (const ElfW(Dyn)* entry = object.l_ld; entry->d_tag != DT_NULL; ++entry) {
    const auto* address = reinterpret_cast<const char*>(entry->d_un.d_ptr);
    switch (entry->d_tag) {
      case DT_SYMTAB:
        tables.symbols = reinterpret_cast<const ElfW(Sym)*>(address);
        break;
      case DT_STRTAB:
        tables.names = address;
        break;
      case DT_RELA:
        tables.data = reinterpret_cast<const ElfW(Rela)*>(address);
        break;
      case DT_RELASZ:
        tables.data_count = entry->d_un.d_val / sizeof(ElfW(Rela));
        break;
      case DT_JMPREL:
        tables.calls = reinterpret_cast<const ElfW(Rela)*>(address);
        break;
      case DT_PLTRELSZ:
        tables.call_count = entry->d_un.d_val / sizeof(ElfW(Rela));
        break;
      default:
        break;
    }
  }
  return tables;
}

struct Object {
  const link_map* map = nullptr;
  uintptr_t begin = 0, end = 0;

  bool contains(uintptr_t address) const { return address >= begin && address < end; }
};

int FindEnd(dl_phdr_info* info, size_t, void* data) {
  auto* object = static_cast<Object*>(data);
  if (info->dlpi_addr != object->map->l_addr) return 0;
  object->begin = UINTPTR_MAX;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    const uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
    object->begin = std::min(object->begin, begin);
    object->end = std::max(object->end, begin + segment.p_memsz);
  }
  return 1;
}

Object ObjectAt(const void* address) {
  Dl_info info{};
  void* map = nullptr;
  Object object;
  if (::dladdr1(address, &info, &map, RTLD_DL_LINKMAP) == 0) return object;
  object.map = static_cast<const link_map*>(map);
  ::dl_iterate_phdr(FindEnd, &object);
  return object;
}

}  // namespace

std::string PathOfObjectAt(const void* address) {
  Dl_info info{};
  void* map = nullptr;
  if (::dladdr1(address, &info, &map, RTLD_DL_LINKMAP) == 0) return "";
  // The file has no uninitialised variables, but it has the dynamic section.
  const auto file = FileMappedAt(static_cast<const link_map*>(map)->l_ld);
  return file.ok() ? file->string() : "";
}

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
  const Object object = ObjectAt(address);
  if (object.map == nullptr) return {};
  const SymbolTables tables = TablesOf(*object.map);
  Definition foreign;
  const auto search = [&](const ElfW(Rela) * relocations, size_t count) {
    for (size_t i = 0; i < count && foreign.name.empty(); ++i) {
      const uint64_t index = ELF64_R_SYM(relocations[i].r_info);
      if (index == 0 || !HoldsAddress(ELF64_R_TYPE(relocations[i].r_info))) continue;
      const ElfW(Sym)& symbol = tables.symbols[index];
      if (symbol.st_shndx == SHN_UNDEF) continue;
      const auto bound =
          *reinterpret_cast<const uintptr_t*>(object.map->l_addr + relocations[i].r_offset);
      const char* name = tables.names + symbol.st_name;
      if (object.contains(bound) || is_shared(name)) continue;
      foreign = {name, PathOfObjectAt(reinterpret_cast<const void*>(bound))};
    }
  };
  search(tables.calls, tables.call_count);
  search(tables.data, tables.data_count);
  return foreign;
}

}  // namespace attune::host
