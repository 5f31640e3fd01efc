#include "extensions/interposers/preload/lookup.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "extensions/interposers/preload/message.h"

namespace attune::interposer {
namespace {

// A program with more objects than this has its library among the first of them.
constexpr size_t kMaxObjects = 2048;
constexpr const char* kVariable = ATTUNE_INTERPOSER_VARIABLE "_REAL";

CodeRange RangeOf(const dl_phdr_info& object) {
  CodeRange range;
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const auto& segment = object.dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    range.begin = std::min<uintptr_t>(range.begin, object.dlpi_addr + segment.p_vaddr);
    range.end =
        std::max<uintptr_t>(range.end, object.dlpi_addr + segment.p_vaddr + segment.p_memsz);
  }
  return range;
}

struct RangeSearch {
  const void* address;
  CodeRange found;
};

int MatchRange(dl_phdr_info* object, size_t, void* data) {
  auto* search = static_cast<RangeSearch*>(data);
  const CodeRange range = RangeOf(*object);
  if (!range.contains(search->address)) return 0;
  search->found = range;
  return 1;
}

bool IsOurs(const void* address) {
  return RangeAround(reinterpret_cast<const void*>(&IsOurs)).contains(address);
}

// `name` in the scope that `handle` stands for, unless it is our own.
void* Lookup(void* handle, const char* name) {
  void* found = ::dlsym(handle, name);
  return found != nullptr && !IsOurs(found) ? found : nullptr;
}

// `name` in the loaded object `path` or its dependencies. The loader compares names before files,
// so a relative path still finds the object that was loaded under it.
void* LookupIn(const char* path, const char* name) {
  void* handle = ::dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return nullptr;
  void* found = Lookup(handle, name);
  // The object is held by whoever loaded it; a function that is used keeps our reference as well.
  if (found == nullptr) ::dlclose(handle);
  return found;
}

// Names that identify a BLAS and its state: every copy exports one.
constexpr const char* kOwnNames[] = {"gotoblas", "openblas_get_config", "bli_init"};

// True if the file has `name` in its table of symbol names. Never maps the file: another process
// may truncate it.
bool HasSymbolName(const char* path, const char* name) {
  std::FILE* file = std::fopen(path, "re");
  if (file == nullptr) return false;
  constexpr size_t kBlock = size_t{1} << 13;    // Stacks of threads may be small.
  const size_t length = std::strlen(name) + 2;  // Between two zeros.
  char wanted[64] = {};
  std::memcpy(wanted + 1, name, length - 2);
  // The end of each block is kept in front of the next, to find names across both.
  char bytes[kBlock + sizeof wanted];
  size_t kept = 0;
  bool found = false;
  for (size_t got = 1; got > 0 && !found;) {
    got = std::fread(bytes + kept, 1, kBlock, file);
    found = ::memmem(bytes, kept + got, wanted, length) != nullptr;
    const size_t next = std::min(kept + got, length - 1);
    std::memmove(bytes, bytes + kept + got - next, next);
    kept = next;
  }
  std::fclose(file);
  return found;
}

// Ends the process rather than load a second copy: the loader would bind parts of it to the first.
void RefuseSecondCopy(const char* path) {
  if (void* loaded = ::dlopen(path, RTLD_LAZY | RTLD_NOLOAD)) {
    ::dlclose(loaded);
    return;
  }
  for (const char* name : kOwnNames) {
    Dl_info first;
    void* defined = ::dlsym(RTLD_DEFAULT, name);
    if (defined == nullptr || ::dladdr(defined, &first) == 0 || !HasSymbolName(path, name))
      continue;
    Die("%s is '%s', which cannot be loaded beside %s: both define %s, so one would compute "
        "with parts of the other. Unset the variable, or name a " ATTUNE_INTERPOSER_LIBRARY
        " of another kind.",
        kVariable, path, first.dli_fname, name);
  }
}

void* LookupInNamed(const char* name) {
  const char* path = ::secure_getenv(kVariable);
  if (path == nullptr || *path == '\0') return nullptr;
  if (IsRelative(path)) {
    Die("Cannot use %s: '%s' is a relative path, and code is loaded by absolute paths only. Give "
        "the whole path.",
        kVariable, path);
  }
  RefuseSecondCopy(path);
  void* handle = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    Die("%s is '%s', which cannot be loaded: %s. It takes the path of a " ATTUNE_INTERPOSER_LIBRARY
        "; without it the one computes that the program would have called.",
        kVariable, path, ::dlerror());
  }
  void* found = Lookup(handle, name);
  if (found == nullptr) {
    Die("%s is '%s', which does not define %s, and the program calls that. It takes the path of "
        "a " ATTUNE_INTERPOSER_LIBRARY
        " that does; without it the one computes that the program would have called.",
        kVariable, path, name);
  }
  return found;
}

void* LookupFromObjectOf(const void* address, const char* name) {
  char path[PATH_MAX];
  return NameOfObject(address, path, sizeof path) ? LookupIn(path, name) : nullptr;
}

// Names are copied first: opening an object from within dl_iterate_phdr() is not allowed for.
struct ObjectNames {
  size_t count = 0;
  char* names[kMaxObjects];
};

int CollectName(dl_phdr_info* object, size_t, void* data) {
  auto* objects = static_cast<ObjectNames*>(data);
  if (objects->count == kMaxObjects) return 1;
  if (object->dlpi_name == nullptr || *object->dlpi_name == '\0') return 0;
  char* copy = ::strdup(object->dlpi_name);
  if (copy != nullptr) objects->names[objects->count++] = copy;
  return 0;
}

// In the order of loading: what the program brought comes before what attune opened.
void* LookupEverywhere(const char* name) {
  auto* objects = static_cast<ObjectNames*>(std::calloc(1, sizeof(ObjectNames)));
  if (objects == nullptr) return nullptr;
  ::dl_iterate_phdr(CollectName, objects);
  void* found = nullptr;
  for (size_t i = 0; i < objects->count; ++i) {
    if (found == nullptr) found = LookupIn(objects->names[i], name);
    std::free(objects->names[i]);
  }
  std::free(objects);
  return found;
}

}  // namespace

CodeRange RangeAround(const void* address) {
  RangeSearch search{address, {}};
  ::dl_iterate_phdr(MatchRange, &search);
  return search.found;
}

bool IsRelative(const char* path) { return path[0] != '/' && std::strchr(path, '/') != nullptr; }

bool NameOfObject(const void* address, char* name, uint64_t size) {
  Dl_info object;
  void* map = nullptr;
  if (address == nullptr || ::dladdr1(address, &object, &map, RTLD_DL_LINKMAP) == 0) return false;
  // dli_fname is argv[0] for the program, which can name any file.
  const char* known = map == nullptr ? nullptr : static_cast<const link_map*>(map)->l_name;
  if (known == nullptr || *known == '\0') return false;
  return static_cast<uint64_t>(std::snprintf(name, size, "%s", known)) < size;
}

void* FindRealIfAny(const char* name, const void* caller) {
  void* found = LookupInNamed(name);
  if (found == nullptr) found = Lookup(RTLD_NEXT, name);
  if (found == nullptr) found = LookupFromObjectOf(caller, name);
  if (found == nullptr) found = LookupEverywhere(name);
  return found;
}

void* FindReal(const char* name, const void* caller) {
  void* found = FindRealIfAny(name, caller);
  if (found == nullptr) {
    Die("No loaded library but this one defines %s, so calls that attune does not compute have "
        "nowhere to go. Link the program with a " ATTUNE_INTERPOSER_LIBRARY " or name one in %s.",
        name, kVariable);
  }
  return found;
}

void* FindBeside(const void* function, const char* name) {
  return LookupFromObjectOf(function, name);
}

const char* DefiningObject(const char* name, char* path, uint64_t size) {
  void* found = Lookup(RTLD_NEXT, name);
  if (found == nullptr) found = LookupEverywhere(name);
  return found != nullptr && NameOfObject(found, path, size) ? path : nullptr;
}

}  // namespace attune::interposer
