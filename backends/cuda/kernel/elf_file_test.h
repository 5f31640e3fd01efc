// Files as NVIDIA's compilers write them, made without a compiler: for readers of machine code.
#pragma once

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace attune::cuda {

struct ElfSection {
  std::string name;
  std::string content;
  uint32_t link = 0;
  uint64_t unstored_bytes = 0;  // If not 0, replaces the content: memory that a file does not hold.
};

template <class T>
std::string BytesOf(const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

// The sections in their order, behind the empty one and before that of their names.
inline std::string ElfFileOf(const std::vector<ElfSection>& sections) {
  std::string names(1, '\0');
  std::string contents;
  std::vector<Elf64_Shdr> headers(1);
  const auto add = [&](const ElfSection& section) {
    Elf64_Shdr header = {};
    header.sh_name = static_cast<uint32_t>(names.size());
    header.sh_type = section.unstored_bytes > 0 ? SHT_NOBITS : SHT_PROGBITS;
    header.sh_offset = sizeof(Elf64_Ehdr) + contents.size();
    header.sh_size = section.unstored_bytes > 0 ? section.unstored_bytes : section.content.size();
    header.sh_link = section.link;
    headers.push_back(header);
    names += section.name + '\0';
    contents += section.content;
  };
  for (const ElfSection& section : sections) add(section);
  add({".shstrtab", "", 0, 0});
  headers.back().sh_size = names.size();
  contents += names;
  Elf64_Ehdr file = {};
  std::memcpy(file.e_ident, ELFMAG, SELFMAG);
  file.e_ident[EI_CLASS] = ELFCLASS64;
  file.e_shoff = sizeof file + contents.size();
  file.e_shentsize = sizeof(Elf64_Shdr);
  file.e_shnum = static_cast<uint16_t>(headers.size());
  file.e_shstrndx = static_cast<uint16_t>(headers.size() - 1);
  std::string bytes = BytesOf(file) + contents;
  for (const Elf64_Shdr& header : headers) bytes += BytesOf(header);
  return bytes;
}

// A record of a section .nv.info with the attribute `what` and its numbers.
inline std::string InfoRecord(uint8_t what, const std::vector<uint32_t>& numbers) {
  std::string record = {4, static_cast<char>(what)};
  record += BytesOf(static_cast<uint16_t>(numbers.size() * sizeof(uint32_t)));
  for (const uint32_t number : numbers) record += BytesOf(number);
  return record;
}

// The attributes that a file states for its one kernel.
struct StatedKernel {
  std::string name = "f";
  uint32_t registers = 40;
  std::vector<uint32_t> most_threads;  // Three extents, if there are launch bounds.
  uint64_t shared_bytes = 0;
};

inline std::string CubinOf(const StatedKernel& kernel) {
  Elf64_Sym symbol = {};
  symbol.st_name = 1;
  std::vector<ElfSection> sections = {
      {".strtab", '\0' + kernel.name + '\0', 0, 0},
      {".symtab", BytesOf(Elf64_Sym{}) + BytesOf(symbol), 1, 0},
      // Other records about it come before and after.
      {".nv.info",
       InfoRecord(0x11, {1, 0}) + InfoRecord(0x2f, {1, kernel.registers}) +
           InfoRecord(0x12, {1, 0}),
       0, 0}};
  if (!kernel.most_threads.empty()) {
    sections.push_back({".nv.info." + kernel.name, InfoRecord(0x05, kernel.most_threads), 0, 0});
  }
  if (kernel.shared_bytes > 0) {
    sections.push_back({".nv.shared." + kernel.name, "", 0, kernel.shared_bytes});
  }
  return ElfFileOf(sections);
}

}  // namespace attune::cuda
