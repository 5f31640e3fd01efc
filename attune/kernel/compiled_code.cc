#include "attune/kernel/compiled_code.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace attune::kernel {
namespace {

// Leading bytes and the name of the format.
using Sign = std::pair<std::string_view, std::string_view>;

constexpr Sign kEndings[] = {
    {".cubin", "machine code of an NVIDIA GPU"},
    {".fatbin", "a fat binary of CUDA"},
    {".hsaco", "machine code of an AMD GPU"},
    {".ptx", "PTX"},
    {".spv", "SPIR-V"},
    {".bc", "LLVM bitcode"},
    {".bin", "a program binary"},
    {".o", "an object file"},
    {".so", "a shared library"},
};

constexpr Sign kBeginnings[] = {
    {"\x7f"
     "ELF",
     "machine code (ELF)"},
    {"\x50\xed\x55\xba", "a fat binary of CUDA"},
    {"\x03\x02\x23\x07", "SPIR-V"},
    {"\x07\x23\x02\x03", "SPIR-V"},
    {"BC\xc0\xde", "LLVM bitcode"},
    {"poclbin", "a program binary of PoCL"},
};

// The first word after blanks and comments of whole lines.
std::string_view FirstWord(std::string_view text) {
  for (;;) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
    if (!text.starts_with("//")) break;
    text.remove_prefix(std::min(text.find('\n'), text.size()));
  }
  return text.substr(0, text.find_first_of(" \t\r\n"));
}

std::string_view KindOf(std::string_view name, std::string_view content) {
  for (const auto& [ending, kind] : kEndings) {
    if (name.ends_with(ending)) return kind;
  }
  for (const auto& [beginning, kind] : kBeginnings) {
    if (content.starts_with(beginning)) return kind;
  }
  return FirstWord(content) == ".version" ? "PTX" : "";
}

}  // namespace

Status RefuseCompiledCode(std::string_view name, std::string_view content) {
  const std::string_view kind = KindOf(name, content);
  if (kind.empty()) return Status::Ok();
  return Unsupported(
      fmt::format("'{}' is {}. Each config is compiled from source: what somebody else compiled "
                  "has none but its launches. Name the source that it was made of, or name it as "
                  "the 'binary' in place of the sources.",
                  name, kind));
}

}  // namespace attune::kernel
