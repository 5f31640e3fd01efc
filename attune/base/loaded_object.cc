#include "attune/base/loaded_object.h"

#include <elf.h>
#include <limits.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "attune/base/mapped_file.h"

namespace attune {
namespace {

#if defined(__x86_64__)
constexpr uint64_t kCall = R_X86_64_JUMP_SLOT;
// Returns true if a relocation of this type holds the address of a symbol.
bool HoldsAddress(uint64_t type) {
  return type == kCall || type == R_X86_64_GLOB_DAT || type == R_X86_64_64;
}
#else
#error "Name the relocations of this architecture that hold the address of a symbol."
#endif

uint32_t GnuHashOf(const char* name) {
  uint32_t hash = 5381;
  for (; *name != '\0'; ++name) hash = hash * 33 + static_cast<unsigned char>(*name);
  return hash;
}

struct ObjectSearch {
  uintptr_t wanted;
  LoadedObject found;
};

int TakeIfAround(dl_phdr_info* info, size_t, void* data) {
  auto* search = static_cast<ObjectSearch*>(data);
  const LoadedObject object(*info);
  if (!object.contains(search->wanted)) return 0;
  search->found = object;
  return 1;
}

int ReadLoads(dl_phdr_info* info, size_t, void* loads) {
  *static_cast<uint64_t*>(loads) = info->dlpi_adds;
  return 1;
}

int CountObject(dl_phdr_info*, size_t, void* count) {
  ++*static_cast<size_t*>(count);
  return 0;
}

// Allocates nothing: the linker is locked meanwhile, and an allocator may ask it for objects.
int TakeWhileRoom(dl_phdr_info* info, size_t, void* data) {
  auto* objects = static_cast<std::vector<LoadedObject>*>(data);
  if (objects->size() == objects->capacity()) return 1;
  objects->emplace_back(*info);
  return 0;
}

}  // namespace

LoadedObject::LoadedObject(const dl_phdr_info& info) : begin_(UINTPTR_MAX), base_(info.dlpi_addr) {
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const auto& segment = info.dlpi_phdr[i];
    const uintptr_t begin = base_ + segment.p_vaddr;
    if (segment.p_type == PT_DYNAMIC) dynamic_ = reinterpret_cast<const ElfW(Dyn)*>(begin);
    if (segment.p_type == PT_GNU_RELRO) {
      const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
      sealed_begin_ = begin / page * page;
      sealed_end_ = (begin + segment.p_memsz) / page * page;
    }
    if (segment.p_type != PT_LOAD) continue;
    begin_ = std::min(begin_, begin);
    end_ = std::max(end_, begin + segment.p_memsz);
  }
  if (dynamic_ != nullptr) ReadTables();
}

void LoadedObject::ReadTables() {
  size_t soname = 0;
  size_t relative_count = 0;
  for (const ElfW(Dyn)* entry = dynamic_; entry->d_tag != DT_NULL; ++entry) {
    const uintptr_t value = entry->d_un.d_val;
    // The C library replaces file offsets by addresses where it can write them.
    const uintptr_t address = contains(value) ? value : base_ + value;
    switch (entry->d_tag) {
      case DT_SYMTAB:
        symbols_ = reinterpret_cast<const ElfW(Sym)*>(address);
        break;
      case DT_STRTAB:
        names_ = reinterpret_cast<const char*>(address);
        break;
      case DT_GNU_HASH:
        hashes_ = reinterpret_cast<const uint32_t*>(address);
        break;
      case DT_RELA:
        data_.first = reinterpret_cast<const ElfW(Rela)*>(address);
        break;
      case DT_RELASZ:
        data_.count = value / sizeof(ElfW(Rela));
        break;
      case DT_RELACOUNT:
        relative_count = value;
        break;
      case DT_JMPREL:
        calls_.first = reinterpret_cast<const ElfW(Rela)*>(address);
        break;
      case DT_PLTRELSZ:
        calls_.count = value / sizeof(ElfW(Rela));
        break;
      case DT_SONAME:
        soname = value;
        break;
      default:
        break;
    }
  }
  // These come first and name no symbol.
  relative_count = std::min(relative_count, data_.count);
  data_.first += relative_count;
  data_.count -= relative_count;
  if (names_ == nullptr || soname == 0) return;
  const size_t length = ::strnlen(names_ + soname, sizeof soname_);
  if (length < sizeof soname_) std::memcpy(soname_, names_ + soname, length + 1);
}

bool LoadedObject::Needs(std::string_view soname) const {
  if (dynamic_ == nullptr || names_ == nullptr) return false;
  for (const ElfW(Dyn)* entry = dynamic_; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_NEEDED && names_ + entry->d_un.d_val == soname) return true;
  }
  return false;
}

LoadedObject LoadedObject::At(const void* address) {
  ObjectSearch search{reinterpret_cast<uintptr_t>(address), {}};
  ::dl_iterate_phdr(TakeIfAround, &search);
  return search.found;
}

std::vector<LoadedObject> LoadedObject::All() {
  size_t count = 0;
  ::dl_iterate_phdr(CountObject, &count);
  std::vector<LoadedObject> objects;
  objects.reserve(count);
  ::dl_iterate_phdr(TakeWhileRoom, &objects);
  return objects;
}

std::string LoadedObject::path() const {
  char path[PATH_MAX];
  // The file has no uninitialised variables, but it has the dynamic section.
  const bool is_known = FindMappedFile(dynamic_, path, sizeof path) == MappedFile::kFound;
  return is_known ? path : "";
}

const ElfW(Sym) * LoadedObject::Find(const char* name) const {
  if (symbols_ == nullptr || names_ == nullptr || hashes_ == nullptr || hashes_[0] == 0) {
    return nullptr;
  }
  // Four numbers, a Bloom filter, the first symbol of each bucket, and a hash for each symbol from
  // `first` on. The lowest bit marks the last one of a bucket.
  const uint32_t bucket_count = hashes_[0], first = hashes_[1], filter_size = hashes_[2];
  const uint32_t* buckets = hashes_ + 4 + filter_size * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
  const uint32_t* chains = buckets + bucket_count;
  const uint32_t hash = GnuHashOf(name);
  for (uint32_t i = buckets[hash % bucket_count]; i >= first && i != 0; ++i) {
    const uint32_t entry = chains[i - first];
    const ElfW(Sym)& symbol = symbols_[i];
    const bool is_alike = (entry | 1) == (hash | 1);
    if (is_alike && std::strcmp(names_ + symbol.st_name, name) == 0) return &symbol;
    if ((entry & 1) != 0) break;
  }
  return nullptr;
}

void LoadedObject::VisitBindings(const std::function<bool(const Binding&)>& visit) const {
  if (symbols_ == nullptr || names_ == nullptr) return;
  if (!VisitBindings(calls_, visit)) (void)VisitBindings(data_, visit);
}

bool LoadedObject::VisitBindings(Relocations relocations,
                                 const std::function<bool(const Binding&)>& visit) const {
  for (size_t i = 0; i < relocations.count; ++i) {
    const ElfW(Rela)& relocation = relocations.first[i];
    const uint64_t index = ELF64_R_SYM(relocation.r_info);
    const uint64_t type = ELF64_R_TYPE(relocation.r_info);
    if (index == 0 || !HoldsAddress(type)) continue;
    const ElfW(Sym)& symbol = symbols_[index];
    const uintptr_t bound = *reinterpret_cast<const uintptr_t*>(base_ + relocation.r_offset);
    // Until the first call, the address is that of code in the object that calls the linker.
    const bool is_definition =
        symbol.st_shndx != SHN_UNDEF && bound == base_ + static_cast<uintptr_t>(symbol.st_value);
    const bool is_unresolved = type == kCall && contains(bound) && !is_definition;
    const uintptr_t place = base_ + relocation.r_offset;
    if (visit({names_ + symbol.st_name, symbol, bound, is_unresolved, place})) return true;
  }
  return false;
}

bool LoadedObject::Overwrite(uintptr_t place, uintptr_t value) const {
  auto* const begin = reinterpret_cast<void*>(sealed_begin_);
  const size_t size = sealed_end_ - sealed_begin_;
  const bool is_sealed = place >= sealed_begin_ && place < sealed_end_;
  if (is_sealed && ::mprotect(begin, size, PROT_READ | PROT_WRITE) != 0) return false;
  std::atomic_ref<uintptr_t>(*reinterpret_cast<uintptr_t*>(place)).store(value);
  if (is_sealed) ::mprotect(begin, size, PROT_READ);
  return true;
}

uint64_t LoadedObject::CountLoads() {
  uint64_t loads = 0;
  ::dl_iterate_phdr(ReadLoads, &loads);
  return loads;
}

}  // namespace attune
