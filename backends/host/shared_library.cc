#include "backends/host/shared_library.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "attune/base/code_folder.h"
#include "attune/base/file.h"
#include "attune/base/fingerprint.h"
#include "attune/base/loaded_object.h"
#include "backends/host/symbol_scope.h"

namespace attune::host {
namespace {

// RTLD_DEEPBIND would bind the dependencies of the library to the allocator of the C library
// instead of the program. The sanitizers reject it, too.
constexpr int kOpenFlags = RTLD_NOW | RTLD_LOCAL;

std::string ToHex(const unsigned char* bytes, size_t count) {
  std::string hex;
  for (size_t i = 0; i < count; ++i) hex += fmt::format("{:02x}", bytes[i]);
  return hex;
}

// Walks the notes of one segment. Their fields are padded to four bytes.
std::string BuildIdInNotes(const char* notes, size_t size) {
  const auto padded = [](size_t n) { return (n + 3) & ~size_t{3}; };
  for (size_t at = 0; at + sizeof(ElfW(Nhdr)) <= size;) {
    ElfW(Nhdr) header;
    std::memcpy(&header, notes + at, sizeof(header));
    const char* name = notes + at + sizeof(header);
    const char* content = name + padded(header.n_namesz);
    const size_t next = at + sizeof(header) + padded(header.n_namesz) + padded(header.n_descsz);
    if (next > size) break;
    if (header.n_type == NT_GNU_BUILD_ID &&
        std::string_view(name, header.n_namesz) == std::string_view("GNU\0", 4)) {
      return ToHex(reinterpret_cast<const unsigned char*>(content), header.n_descsz);
    }
    at = next;
  }
  return "";
}

struct Wanted {
  ElfW(Addr) base;
  std::string build_id;
};

int CollectBuildId(dl_phdr_info* object, size_t, void* data) {
  auto* wanted = static_cast<Wanted*>(data);
  if (object->dlpi_addr != wanted->base) return 0;
  for (int i = 0; i < object->dlpi_phnum && wanted->build_id.empty(); ++i) {
    const auto& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    const auto* notes = reinterpret_cast<const char*>(object->dlpi_addr + segment.p_vaddr);
    wanted->build_id = BuildIdInNotes(notes, segment.p_memsz);
  }
  return 1;
}

// Returns a handle of an object that is loaded already, or null. The owner of the object and this
// handle keep it loaded.
void* HandleOf(const std::string& path) {
  if (path.empty()) return nullptr;  // dlopen() would return the program.
  std::error_code error;
  const bool is_program = std::filesystem::equivalent(path, "/proc/self/exe", error);
  return ::dlopen(is_program ? nullptr : path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
}

bool IsLoaded(const std::string& name) {
  void* handle = ::dlopen(name.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (handle != nullptr) ::dlclose(handle);
  return handle != nullptr;
}

std::string FingerprintOfFile(const std::string& path) {
  const Result<std::string> content = ReadFile(path);
  return content.ok() ? "xxh3-" + FingerprintOf(*content).ToHex() : "unknown";
}

}  // namespace

Result<SharedLibrary> SharedLibrary::Open(const std::vector<std::string>& names) {
  std::string reasons;
  for (const std::string& name : names) {
    // The system searches for a bare name. The current folder may belong to any user.
    const bool is_relative = name.find('/') != std::string::npos && !name.starts_with('/');
    if (is_relative) {
      reasons += fmt::format("{}'{}' is a relative path; give the whole path",
                             reasons.empty() ? "" : "; ", name);
      continue;
    }
    const bool was_loaded = IsLoaded(name);
    if (void* handle = ::dlopen(name.c_str(), kOpenFlags)) return SharedLibrary(handle, was_loaded);
    reasons += fmt::format("{}{}", reasons.empty() ? "" : "; ", ::dlerror());
  }
  return Unavailable(fmt::format("Cannot load the library: {}.", reasons));
}

Result<SharedLibrary> SharedLibrary::OpenUnmixed(const LibraryFiles& files) {
  const Definition global = FindInGlobalScope(files.own_symbols);
  return global.name.empty() ? Open(files.names) : OpenProgramsOwn(files, global);
}

bool SharedLibrary::IsInProcess(const LibraryFiles& files) {
  return !FindInGlobalScope(files.own_symbols).name.empty() ||
         std::any_of(files.names.begin(), files.names.end(), IsLoaded);
}

std::string SharedLibrary::PathOfLoaded(const std::string& name) {
  void* handle = HandleOf(name);
  return handle == nullptr ? "" : SharedLibrary(handle, true).path();
}

Result<SharedLibrary> SharedLibrary::OpenProgramsOwn(const LibraryFiles& files,
                                                     const Definition& global) {
  void* handle = HandleOf(global.path);
  const auto is_that = [&](const std::string& name) {
    void* wanted = HandleOf(name);
    return wanted != nullptr && wanted == handle;
  };
  if (handle != nullptr &&
      (files.may_be_programs_own || std::any_of(files.names.begin(), files.names.end(), is_that))) {
    return SharedLibrary(handle, true);
  }
  return Unavailable(fmt::format(
      "Cannot load {} beside {}, which the program uses and which defines {}, too: the one would "
      "compute with parts of the other.",
      fmt::join(files.names, " or "), global.path, global.name));
}

SharedLibrary::SharedLibrary(void* handle, bool was_loaded)
    : handle_(handle), was_loaded_(was_loaded) {
  link_map* map = nullptr;
  if (::dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr) return;
  path_ = PathOfObjectAt(map->l_ld);
  Wanted wanted{map->l_addr, ""};
  ::dl_iterate_phdr(CollectBuildId, &wanted);
  build_id_ = wanted.build_id.empty() ? FingerprintOfFile(path_) : wanted.build_id;
}

void SharedLibrary::SkipExitCode() const {
  link_map* map = nullptr;
  if (::dlinfo(handle_, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr) return;
  ElfW(Dyn)* entry = map->l_ld;
  while (entry->d_tag != DT_NULL && entry->d_tag != DT_FINI_ARRAYSZ) ++entry;
  if (entry->d_tag == DT_NULL) return;
  // The size of the list of functions.
  const auto place = reinterpret_cast<uintptr_t>(&entry->d_un.d_val);
  static_cast<void>(LoadedObject::At(entry).Overwrite(place, 0));
}

void* SharedLibrary::Find(const char* name) const { return ::dlsym(handle_, name); }

void* SharedLibrary::FindBeside(const void* address, const char* name) const {
  void* found = Find(name);
  return found != nullptr && AreInOneObject(found, address) ? found : nullptr;
}

}  // namespace attune::host
