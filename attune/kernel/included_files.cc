#include "attune/kernel/included_files.h"

#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "attune/base/file.h"

namespace attune::kernel {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kBlanks = " \t";

// Without `beginning`; empty if `text` does not begin with it.
std::string_view Behind(std::string_view text, std::string_view beginning) {
  return text.starts_with(beginning) ? text.substr(beginning.size()) : std::string_view();
}

std::string_view WithoutBlanks(std::string_view text) {
  const size_t first = text.find_first_not_of(kBlanks);
  return first == std::string_view::npos ? std::string_view() : text.substr(first);
}

// The name that a line includes, `#include "x.h"` or with angles; empty if it includes none.
std::string_view NameIncludedBy(std::string_view line) {
  const std::string_view directive = WithoutBlanks(Behind(WithoutBlanks(line), "#"));
  const std::string_view quoted = WithoutBlanks(Behind(directive, "include"));
  if (quoted.empty() || (quoted[0] != '"' && quoted[0] != '<')) return {};
  const size_t end = quoted.find(quoted[0] == '"' ? '"' : '>', 1);
  return end == std::string_view::npos ? std::string_view() : quoted.substr(1, end - 1);
}

std::vector<std::string_view> NamesIncludedBy(std::string_view source) {
  std::vector<std::string_view> names;
  while (!source.empty()) {
    const size_t end = source.find('\n');
    const std::string_view name = NameIncludedBy(source.substr(0, end));
    if (!name.empty()) names.push_back(name);
    source = end == std::string_view::npos ? std::string_view() : source.substr(end + 1);
  }
  return names;
}

std::vector<fs::path> FoldersOf(const std::vector<std::string>& compile_options) {
  std::vector<fs::path> folders = {"."};
  for (const std::string& option : compile_options) {
    const std::string_view folder = Behind(option, "-I");
    if (!folder.empty()) folders.emplace_back(folder);
  }
  return folders;
}

}  // namespace

Result<IncludedFiles> FindIncludedFiles(std::string_view source, const fs::path& folder,
                                        const std::vector<std::string>& compile_options) {
  const std::vector<fs::path> folders = FoldersOf(compile_options);
  std::set<fs::path> seen;
  IncludedFiles included;
  std::vector<std::pair<std::string, fs::path>> left = {{std::string(source), folder}};
  while (!left.empty()) {
    const auto [text, of_text] = std::move(left.back());
    left.pop_back();
    for (const std::string_view name : NamesIncludedBy(text)) {
      std::vector<fs::path> places = {of_text / name};
      for (const fs::path& other : folders) places.push_back(other / name);
      for (const fs::path& place : places) {
        std::error_code is_not_there;
        const fs::path path = fs::canonical(place, is_not_there);
        if (is_not_there || !seen.insert(path).second) continue;
        auto content = ReadFileAtOnce(path);
        if (!content.ok()) continue;
        included.texts += *content;
        included.paths.push_back(path);
        left.emplace_back(*std::move(content), path.parent_path());
        if (seen.size() <= kMaxIncludedFiles) continue;
        return InvalidArgument(fmt::format(
            "the sources include more than {} files, one of them '{}'; so many are followed.",
            kMaxIncludedFiles, path.string()));
      }
    }
  }
  return included;
}

}  // namespace attune::kernel
