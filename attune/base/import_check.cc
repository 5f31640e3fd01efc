#include "attune/base/import_check.h"

#include <dlfcn.h>
#include <elf.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/loaded_object.h"

namespace attune {
namespace {

bool IsDefined(const ElfW(Sym) * symbol) {
  return symbol != nullptr && symbol->st_shndx != SHN_UNDEF;
}

// A function of `object` by its name. Null if the object does not define it.
template <class Function>
Function* FunctionOf(const LoadedObject& object, const char* name) {
  const ElfW(Sym)* symbol = object.Find(name);
  return IsDefined(symbol) ? reinterpret_cast<Function*>(object.AddressOf(*symbol)) : nullptr;
}

// The tables of attune's databases are STRICT, which SQLite has since 3.37.
bool HasFitSqlite(const LoadedObject& object) {
  auto* const version = FunctionOf<int()>(object, "sqlite3_libversion_number");
  auto* const has_locks = FunctionOf<int()>(object, "sqlite3_threadsafe");
  return version != nullptr && has_locks != nullptr && version() >= 3037000 && has_locks() != 0;
}

// The digests of XXH3 are final since 0.8.0.
bool HasFitXxhash(const LoadedObject& object) {
  auto* const version = FunctionOf<unsigned()>(object, "XXH_versionNumber");
  return version != nullptr && version() >= 800;
}

bool HasFitCrypto(const LoadedObject& object) {
  auto* const version = FunctionOf<unsigned long()>(object, "OpenSSL_version_num");
  return version != nullptr && version() >> 28 == 3;
}

bool HasFitZlib(const LoadedObject& object) {
  auto* const version = FunctionOf<const char*()>(object, "zlibVersion");
  return version != nullptr && version()[0] == '1';
}

bool HasFitBzip2(const LoadedObject& object) {
  auto* const version = FunctionOf<const char*()>(object, "BZ2_bzlibVersion");
  return version != nullptr && version()[0] == '1';
}

// The names of fmt contain its version.
bool HasFitFmt(const LoadedObject&) { return true; }

// The names of SOCI do not, and it has no function for it.
bool HasFitSoci(const LoadedObject&) { return false; }

// A library that attune links.
struct LinkedLibrary {
  std::string_view soname;                     // Its beginning.
  bool (*can_come_from)(const LoadedObject&);  // Another object that has every called function.
};

// A library comes before those that it calls.
constexpr LinkedLibrary kLinkedLibraries[] = {{"libsoci_sqlite3.so", HasFitSoci},
                                              {"libsoci_core.so", HasFitSoci},
                                              {"libsqlite3.so", HasFitSqlite},
                                              {"libfmt.so", HasFitFmt},
                                              {"libxxhash.so", HasFitXxhash},
                                              {"libcrypto.so", HasFitCrypto},
                                              {"libz.so", HasFitZlib},
                                              {"libbz2.so", HasFitBzip2}};

// Programs do not replace the libraries above with these. Most bindings are to them.
bool IsOfTheLanguage(const LoadedObject& object) {
  constexpr std::string_view kNames[] = {"libc.so", "libm.so", "libstdc++.so", "libc++.so",
                                         "libgcc_s.so"};
  return std::any_of(std::begin(kNames), std::end(kNames),
                     [&](std::string_view name) { return object.soname().starts_with(name); });
}

// Inline functions and templates of C++, which every object may define, with the same meaning.
bool IsInline(const char* name, const ElfW(Sym) & definition) {
  return std::string_view(name).starts_with("_Z") &&
         ELF64_ST_BIND(definition.st_info) != STB_GLOBAL;
}

// The linker copies data of a library into a program that uses it.
bool MayBeCopied(const char* name, const ElfW(Sym) & definition) {
  const unsigned type = ELF64_ST_TYPE(definition.st_info);
  return type == STT_OBJECT || type == STT_TLS || IsInline(name, definition);
}

class ImportCheck {
 public:
  explicit ImportCheck(const void* address) : checked_(LoadedObject::At(address)) {
    objects_ = LoadedObject::All();
    for (const LinkedLibrary& linked : kLinkedLibraries) {
      // The dynamic linker takes the first object with the needed name, too.
      const auto found = std::find_if(objects_.begin(), objects_.end(), [&](const auto& it) {
        return it.soname().starts_with(linked.soname) && IsNeeded(it.soname());
      });
      if (found != objects_.end()) libraries_.push_back({linked, *found});
    }
    std::erase_if(objects_, IsOfTheLanguage);
    std::sort(objects_.begin(), objects_.end(),
              [](const auto& a, const auto& b) { return a.begin() < b.begin(); });
  }

  Status Run() {
    VisitForeign(checked_);
    for (Library& library : libraries_) {
      if (library.is_called) VisitForeign(library.object);
    }
    for (const Library& library : libraries_) {
      if (!library.function.empty() && !IsWhole(library)) return Failure(library);
    }
    return Status::Ok();
  }

 private:
  struct Library {
    LinkedLibrary linked;
    LoadedObject object;
    bool is_called = false;
    std::string function = "";   // One of its functions that another object defines.
    LoadedObject provider = {};  // That object.
    bool has_more_providers = false;
  };

  bool IsNeeded(std::string_view soname) const {
    return checked_.Needs(soname) ||
           std::any_of(libraries_.begin(), libraries_.end(),
                       [&](const Library& caller) { return caller.object.Needs(soname); });
  }

  const LoadedObject* ObjectAt(uintptr_t address) const {
    const auto after =
        std::upper_bound(objects_.begin(), objects_.end(), address,
                         [](uintptr_t at, const auto& it) { return at < it.begin(); });
    return after != objects_.begin() && after[-1].contains(address) ? &after[-1] : nullptr;
  }

  // The library that must define this function. Null if none must.
  Library* DefinerOf(const char* name) {
    for (Library& library : libraries_) {
      const ElfW(Sym)* symbol = library.object.Find(name);
      if (!IsDefined(symbol)) continue;
      return MayBeCopied(name, *symbol) ? nullptr : &library;
    }
    return nullptr;
  }

  // Notes the libraries that `caller` calls, and each function that another object defines.
  void VisitForeign(const LoadedObject& caller) {
    caller.VisitBindings([&](const Binding& binding) {
      const uintptr_t address = AddressOf(binding);
      if (caller.contains(address)) return false;
      const LoadedObject* provider = ObjectAt(address);
      if (provider != nullptr) Note(binding, *provider);
      return false;
    });
  }

  void Note(const Binding& binding, const LoadedObject& provider) {
    for (Library& library : libraries_) {
      if (library.object.begin() != provider.begin()) continue;
      library.is_called = true;
      return;
    }
    const bool is_own = binding.symbol.st_shndx != SHN_UNDEF;
    if (is_own && MayBeCopied(binding.name, binding.symbol)) return;
    Library* library = DefinerOf(binding.name);
    const ElfW(Sym)* found = provider.Find(binding.name);
    if (library == nullptr || !IsDefined(found) || IsInline(binding.name, *found)) return;
    if (library->function.empty()) {
      library->function = binding.name;
      library->provider = provider;
    }
    if (library->provider.begin() != provider.begin()) library->has_more_providers = true;
  }

  static uintptr_t AddressOf(const Binding& binding) {
    if (!binding.is_unresolved) return binding.address;
    return reinterpret_cast<uintptr_t>(::dlsym(RTLD_DEFAULT, binding.name));
  }

  // Returns true if one other object replaces all of the library.
  bool IsWhole(const Library& library) {
    if (library.is_called || library.has_more_providers) return false;
    if (!library.linked.can_come_from(library.provider)) return false;
    bool is_whole = true;
    library.provider.VisitBindings([&](const Binding& binding) {
      const bool is_foreign =
          binding.symbol.st_shndx != SHN_UNDEF && !library.provider.contains(AddressOf(binding));
      is_whole = !is_foreign || DefinerOf(binding.name) != &library;
      return !is_whole;
    });
    return is_whole;
  }

  // Formats without fmt, which may be the library that cannot be used.
  static Status Failure(const Library& library) {
    const std::string path = library.provider.path();
    return Unavailable(
        "Cannot use " + std::string(library.object.soname()) + ": its function " +
        library.function + " is replaced by that of " + (path.empty() ? "another object" : path) +
        ", which does not contain the whole library in a suitable version. Hide that name: "
        "link without -rdynamic, or with -Wl,--exclude-libs,ALL.");
  }

  LoadedObject checked_;
  std::vector<LoadedObject> objects_;  // By address, without those of the language.
  std::vector<Library> libraries_;
};

// `object` and the libraries that it was linked with, directly or not.
std::vector<LoadedObject> WithLibraries(const LoadedObject& object) {
  std::vector<LoadedObject> found = {object};
  const std::vector<LoadedObject> all = LoadedObject::All();
  for (size_t i = 0; i < found.size(); ++i) {
    for (const LoadedObject& other : all) {
      const auto is_other = [&](const LoadedObject& one) { return one.begin() == other.begin(); };
      if (other.soname().empty() || !found[i].Needs(other.soname())) continue;
      if (std::none_of(found.begin(), found.end(), is_other)) found.push_back(other);
    }
  }
  return found;
}

// AddressSanitizer replaces __cxa_throw and looks for the real one when the program starts. A
// program in C has none then, and the sanitizer ends it at the first exception of attune.
// Afterwards the calls of `object` and its libraries go to the C++ library directly.
void ThrowPastSanitizer(const LoadedObject& object) {
  constexpr const char* kThrow = "__cxa_throw";
  constexpr std::string_view kNames[] = {kThrow, "__cxa_rethrow_primary_exception"};
  const LoadedObject language =
      LoadedObject::At(reinterpret_cast<const void*>(&std::set_terminate));
  const ElfW(Sym)* real = language.empty() ? nullptr : language.Find(kThrow);
  if (real == nullptr || ::dlsym(RTLD_DEFAULT, kThrow) == language.AddressOf(*real)) return;
  for (const LoadedObject& caller : WithLibraries(object)) {
    caller.VisitBindings([&](const Binding& binding) {
      for (const std::string_view name : kNames) {
        const ElfW(Sym)* own = binding.name == name ? language.Find(binding.name) : nullptr;
        if (own == nullptr) continue;
        (void)caller.Overwrite(binding.place,
                               reinterpret_cast<uintptr_t>(language.AddressOf(*own)));
      }
      return false;
    });
  }
}

}  // namespace

Status CheckImports(const void* address) {
  Status status = ImportCheck(address).Run();
  if (status.ok()) ThrowPastSanitizer(LoadedObject::At(address));
  return status;
}

Status CheckOwnImports() {
  // No lock, which a child of a fork could inherit. Several threads may check at once.
  static constinit std::atomic<bool> has_passed = false;
  if (has_passed.load(std::memory_order_relaxed)) return Status::Ok();
  Status status = CheckImports(&has_passed);
  if (status.ok()) has_passed.store(true, std::memory_order_relaxed);
  return status;
}

}  // namespace attune
