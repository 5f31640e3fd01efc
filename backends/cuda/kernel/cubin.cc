#include "backends/cuda/kernel/cubin.h"

#include <elf.h>

#include <cstring>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace attune::cuda {
namespace {

// Records of a section .nv.info: a byte for the form, one for the attribute, and 16 bits that are
// the value or, in the last form, the number of bytes that follow.
constexpr uint8_t kSizedForm = 4;
constexpr uint8_t kMostThreads = 0x05;    // Three extents of a block.
constexpr uint8_t kRegisterCount = 0x2f;  // The number of a symbol, and the registers.

// Far beyond any GPU: a file with a larger number is damaged.
constexpr int64_t kMostPlausibleThreads = int64_t{1} << 20;
constexpr uint64_t kMostPlausibleBytes = uint64_t{1} << 30;
// Maximum length of a kernel's name in a kernel file.
constexpr size_t kMostNameBytes = 4096 + 8;
// Instructions have 8 bits for a register number, and one of the numbers means none.
constexpr uint32_t kMostRegisters = 255;

// Nothing beyond the end.
template <class T>
std::optional<T> ValueAt(std::string_view bytes, size_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

class ElfFile {
 public:
  // Without sections if it is none.
  explicit ElfFile(std::string_view bytes) : bytes_(bytes) {
    const auto header = ValueAt<Elf64_Ehdr>(bytes, 0);
    const bool is_elf = header && std::memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
                        header->e_ident[EI_CLASS] == ELFCLASS64 &&
                        header->e_shentsize == sizeof(Elf64_Shdr);
    if (!is_elf || header->e_shoff > bytes.size()) return;
    for (size_t i = 0; i < header->e_shnum; ++i) {
      const auto section = ValueAt<Elf64_Shdr>(bytes, header->e_shoff + i * sizeof(Elf64_Shdr));
      if (!section) break;
      sections_.push_back(*section);
    }
    if (header->e_shstrndx < sections_.size()) names_ = Content(sections_[header->e_shstrndx]);
    const Elf64_Shdr* const symbols = Section(".symtab");
    if (symbols == nullptr || symbols->sh_link >= sections_.size()) return;
    symbols_ = Content(*symbols);
    symbol_names_ = Content(sections_[symbols->sh_link]);
  }

  const Elf64_Shdr* Section(std::string_view name) const {
    for (const Elf64_Shdr& section : sections_) {
      if (IsTextAt(names_, section.sh_name, name)) return &section;
    }
    return nullptr;
  }

  // Empty if there is no such section.
  std::string_view ContentOf(std::string_view name) const {
    const Elf64_Shdr* const section = Section(name);
    return section == nullptr ? std::string_view() : Content(*section);
  }

  // The rest of the names of the sections that begin with `prefix`.
  std::vector<std::string> SectionsBehind(std::string_view prefix) const {
    std::vector<std::string> found;
    for (const Elf64_Shdr& section : sections_) {
      if (section.sh_name >= names_.size()) continue;
      // A damaged file has texts without an end.
      const std::string_view text = names_.substr(section.sh_name, kMostNameBytes);
      const std::string_view name = text.substr(0, text.find('\0'));
      if (name.starts_with(prefix)) found.emplace_back(name.substr(prefix.size()));
    }
    return found;
  }

  bool IsSymbolCalled(uint32_t number, std::string_view name) const {
    const auto symbol = ValueAt<Elf64_Sym>(symbols_, number * sizeof(Elf64_Sym));
    return symbol && IsTextAt(symbol_names_, symbol->st_name, name);
  }

 private:
  std::string_view Content(const Elf64_Shdr& section) const {
    const bool is_inside = section.sh_type != SHT_NOBITS && section.sh_offset <= bytes_.size() &&
                           section.sh_size <= bytes_.size() - section.sh_offset;
    return is_inside ? bytes_.substr(section.sh_offset, section.sh_size) : std::string_view();
  }

  // Reads at most the length of `name`: a damaged file has texts without an end, and refers to them
  // once for each of its sections.
  static bool IsTextAt(std::string_view texts, size_t offset, std::string_view name) {
    if (offset >= texts.size()) return false;
    const std::string_view from_here = texts.substr(offset);
    return from_here.size() > name.size() && from_here.starts_with(name) &&
           from_here[name.size()] == '\0';
  }

  std::string_view bytes_;
  std::vector<Elf64_Shdr> sections_;
  std::string_view names_;
  std::string_view symbols_;
  std::string_view symbol_names_;
};

// Calls `visit` with the attribute of each record of the last form, and its bytes.
template <class Visit>
void VisitRecords(std::string_view info, const Visit& visit) {
  while (info.size() >= 4) {
    const auto form = static_cast<uint8_t>(info[0]);
    const auto what = static_cast<uint8_t>(info[1]);
    const size_t size = form == kSizedForm ? *ValueAt<uint16_t>(info, 2) : 0;
    info.remove_prefix(4);
    if (size > info.size()) return;
    if (form == kSizedForm) visit(what, info.substr(0, size));
    info.remove_prefix(size);
  }
}

// Per thread; nothing if the file does not state it, or states an impossible number.
std::optional<int> RegistersOf(const ElfFile& file, std::string_view name) {
  uint32_t registers = 0;
  VisitRecords(file.ContentOf(".nv.info"), [&](uint8_t what, std::string_view bytes) {
    const auto symbol = ValueAt<uint32_t>(bytes, 0);
    const auto count = ValueAt<uint32_t>(bytes, sizeof(uint32_t));
    if (what == kRegisterCount && count && file.IsSymbolCalled(*symbol, name)) registers = *count;
  });
  if (registers == 0 || registers > kMostRegisters) return std::nullopt;
  return static_cast<int>(registers);
}

// Per block, 0 if there are no launch bounds; nothing if they are impossible.
std::optional<int> MostThreadsOf(const ElfFile& file, std::string_view name) {
  int64_t threads = 0;
  VisitRecords(file.ContentOf(fmt::format(".nv.info.{}", name)),
               [&](uint8_t what, std::string_view bytes) {
                 if (what != kMostThreads || bytes.size() < 3 * sizeof(uint32_t)) return;
                 threads = 1;
                 for (size_t i = 0; i < 3; ++i) {
                   // Before the next factor, so that no product of theirs overflows.
                   if (threads > kMostPlausibleThreads) return;
                   threads *= *ValueAt<uint32_t>(bytes, i * sizeof(uint32_t));
                 }
               });
  if (threads > kMostPlausibleThreads) return std::nullopt;
  return static_cast<int>(threads);
}

}  // namespace

std::optional<CubinKernel> FindKernel(std::string_view cubin, std::string_view name) {
  const ElfFile file(cubin);
  const std::optional<int> registers = RegistersOf(file, name);
  const std::optional<int> most_threads = MostThreadsOf(file, name);
  const Elf64_Shdr* const shared = file.Section(fmt::format(".nv.shared.{}", name));
  const uint64_t section_bytes = shared == nullptr ? 0 : shared->sh_size;
  if (!registers || !most_threads || section_bytes > kMostPlausibleBytes) return std::nullopt;
  return CubinKernel{*registers, static_cast<int64_t>(section_bytes), *most_threads};
}

std::optional<std::vector<std::string>> FunctionsOf(std::string_view cubin) {
  const ElfFile file(cubin);
  if (file.Section(".symtab") == nullptr) return std::nullopt;
  return file.SectionsBehind(".text.");
}

}  // namespace attune::cuda
