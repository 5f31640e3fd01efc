// The program and its shared libraries as the dynamic linker has loaded them. Needs only the
// C and C++ libraries, because import_check.h checks the others.
#pragma once

#include <link.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace attune {

// A reference of an object to a symbol. Valid while the object is loaded.
struct Binding {
  const char* name;
  const ElfW(Sym) & symbol;  // In the table of the object.
  uintptr_t address;         // Meaningless if `is_unresolved`.
  bool is_unresolved;        // A function that the dynamic linker binds when it is first called.
  uintptr_t place;           // Where the object keeps `address`.
};

// Stays valid while the object is loaded. Cheap to copy.
class LoadedObject {
 public:
  LoadedObject() = default;
  explicit LoadedObject(const dl_phdr_info& info);

  // The object around `address`. Empty if no object is there.
  static LoadedObject At(const void* address);
  // All objects in the order in which they were loaded.
  static std::vector<LoadedObject> All();
  // How many objects this process has loaded so far, those that are gone included.
  static uint64_t CountLoads();

  bool empty() const { return end_ == 0; }
  uintptr_t begin() const { return begin_; }
  bool contains(uintptr_t address) const { return address >= begin_ && address < end_; }
  // Empty for programs, and for libraries with a longer name than this class keeps.
  std::string_view soname() const { return soname_; }
  // Returns true if it was linked with the library of this name.
  bool Needs(std::string_view soname) const;
  // The absolute path of its file, with symbolic links resolved. Empty if that is unknown.
  std::string path() const;

  // A symbol that other objects may be bound to. Null if there is none of this name, or no GNU
  // hash table. The symbol is undefined if it is only the address of a function of another object
  // in a program without position-independent code. Faster than a dlsym() that fails, and keeps
  // dlerror().
  const ElfW(Sym) * Find(const char* name) const;
  void* AddressOf(const ElfW(Sym) & symbol) const {
    return reinterpret_cast<void*>(base_ + symbol.st_value);
  }

  // Calls `visit` with each binding until it returns true. Relocations that name no symbol cost
  // nothing.
  void VisitBindings(const std::function<bool(const Binding&)>& visit) const;

  // Changes a word of the object, also where the dynamic linker has made it read-only. False if the
  // system does not allow that.
  bool Overwrite(uintptr_t place, uintptr_t value) const;

 private:
  struct Relocations {
    const ElfW(Rela) * first = nullptr;
    size_t count = 0;
  };

  void ReadTables();
  bool VisitBindings(Relocations relocations,
                     const std::function<bool(const Binding&)>& visit) const;

  uintptr_t begin_ = 0, end_ = 0, base_ = 0;
  uintptr_t sealed_begin_ = 0, sealed_end_ = 0;  // Read-only since it was loaded; whole pages.
  const ElfW(Dyn) * dynamic_ = nullptr;
  const ElfW(Sym) * symbols_ = nullptr;
  const char* names_ = nullptr;
  const uint32_t* hashes_ = nullptr;
  Relocations calls_, data_;
  char soname_[32] = "";
};

}  // namespace attune
