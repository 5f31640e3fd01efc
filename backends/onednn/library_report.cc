#include "backends/onednn/library_report.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <cstring>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <oneapi/dnnl/dnnl.h>

#include "attune/base/code_folder.h"
#include "backends/onednn/onednn_adapter.h"

namespace attune::onednn {
namespace {

struct BuildIdSearch {
  ElfW(Addr) base;  // Where the object is loaded.
  std::string build_id;
};

constexpr size_t RoundUp4(size_t size) { return (size + 3) / 4 * 4; }

// The GNU build-id among the notes in [at, end), in hexadecimal.
std::string BuildIdIn(const char* at, const char* end) {
  while (at + sizeof(ElfW(Nhdr)) <= end) {
    ElfW(Nhdr) note;
    std::memcpy(&note, at, sizeof note);
    const char* const name = at + sizeof note;
    const char* const content = name + RoundUp4(note.n_namesz);
    if (content + note.n_descsz > end) break;
    if (note.n_type == NT_GNU_BUILD_ID &&
        std::string_view(name, note.n_namesz) == std::string_view("GNU", 4)) {
      std::string hex;
      for (size_t i = 0; i < note.n_descsz; ++i) {
        hex += fmt::format("{:02x}", static_cast<unsigned char>(content[i]));
      }
      return hex;
    }
    at = content + RoundUp4(note.n_descsz);
  }
  return "";
}

int VisitObject(dl_phdr_info* object, size_t, void* search_address) {
  BuildIdSearch& search = *static_cast<BuildIdSearch*>(search_address);
  if (object->dlpi_addr != search.base) return 0;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    const char* const start = reinterpret_cast<const char*>(object->dlpi_addr + segment.p_vaddr);
    search.build_id = BuildIdIn(start, start + segment.p_memsz);
    if (!search.build_id.empty()) return 1;
  }
  return 1;
}

}  // namespace

LibraryReport ReportLibrary() {
  LibraryReport report;
  report.name = "onednn";
  report.available = true;
  report.version = LibraryVersion();
  report.build_id = LibraryCommit();
  Dl_info where{};
  if (::dladdr(reinterpret_cast<const void*>(&dnnl_version), &where) == 0) return report;
  const auto file = FileMappedAt(reinterpret_cast<const void*>(&dnnl_version));
  report.path = file.ok() ? file->string() : where.dli_fname;
  if (report.build_id.empty()) {
    BuildIdSearch search{reinterpret_cast<ElfW(Addr)>(where.dli_fbase), ""};
    ::dl_iterate_phdr(&VisitObject, &search);
    report.build_id = search.build_id;
  }
  return report;
}

}  // namespace attune::onednn
