#include "backends/host/shared_library.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string_view>

#include <fmt/format.h>

#include "attune/base/file.h"
#include "attune/base/fingerprint.h"

namespace attune::host {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ATTUNE_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define ATTUNE_SANITIZED 1
#endif
#endif

// The sanitizers intercept the allocator by name, which RTLD_DEEPBIND would defeat, so they refuse
// it. Nothing of ours exports BLAS names, so RTLD_LOCAL alone still keeps the libraries apart
// there.
#ifdef ATTUNE_SANITIZED
constexpr int kOpenFlags = RTLD_NOW | RTLD_LOCAL;
#else
constexpr int kOpenFlags = RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND;
#endif

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

std::string FingerprintOfFile(const std::string& path) {
  const Result<std::string> content = ReadFile(path);
  return content.ok() ? "xxh3-" + FingerprintOf(*content).ToHex() : "unknown";
}

}  // namespace

bool SharedLibrary::IsLoaded(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (void* handle = ::dlopen(name.c_str(), RTLD_LAZY | RTLD_NOLOAD)) {
      ::dlclose(handle);
      return true;
    }
  }
  return false;
}

Result<SharedLibrary> SharedLibrary::Open(const std::vector<std::string>& names) {
  std::string reasons;
  for (const std::string& name : names) {
    if (void* handle = ::dlopen(name.c_str(), kOpenFlags)) return SharedLibrary(handle);
    reasons += fmt::format("{}{}", reasons.empty() ? "" : "; ", ::dlerror());
  }
  return Unavailable(fmt::format("Cannot load the library: {}.", reasons));
}

SharedLibrary::SharedLibrary(void* handle) : handle_(handle) {
  link_map* map = nullptr;
  if (::dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr) return;
  std::error_code error;
  const auto resolved = std::filesystem::canonical(map->l_name, error);
  path_ = error ? map->l_name : resolved.string();
  Wanted wanted{map->l_addr, ""};
  ::dl_iterate_phdr(CollectBuildId, &wanted);
  build_id_ = wanted.build_id.empty() ? FingerprintOfFile(path_) : wanted.build_id;
}

void* SharedLibrary::Find(const char* name) const { return ::dlsym(handle_, name); }

}  // namespace attune::host
