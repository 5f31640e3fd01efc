#include "apps/attune/extensions.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "attune/base/code_folder.h"
#include "attune/base/file.h"
#include "attune/base/text.h"

namespace attune {
namespace {

constexpr size_t kMostListBytes = size_t{64} << 10;

bool IsVerbName(std::string_view name) {
  return !name.empty() && name.front() != '-' && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || c == '-';
  });
}

// Returns the line of a list that is wrong, or 0.
int ParseList(std::string_view text, Extension& extension) {
  for (int number = 1; !text.empty(); ++number) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? "" : text.substr(end + 1);
    if (number == 1) {
      extension.description = Trimmed(line);
      continue;
    }
    if (line.empty()) continue;
    const size_t gap = line.find("  ");
    const bool has_gap = gap != std::string_view::npos;
    if (!has_gap || !IsVerbName(line.substr(0, gap)) || Trimmed(line.substr(gap)).empty()) {
      return number;
    }
    extension.verbs.push_back(
        {std::string(line.substr(0, gap)), std::string(Trimmed(line.substr(gap)))});
  }
  return 0;
}

Extension ReadExtension(const std::filesystem::path& path) {
  Extension extension;
  extension.name = path.stem().string();
  const auto text = ReadFile(path, kMostListBytes);
  if (!text.ok()) {
    extension.fault = text.error().message();
    if (extension.fault.ends_with('.')) extension.fault.pop_back();
    return extension;
  }
  const int line = ParseList(*text, extension);
  if (line != 0) {
    extension.fault =
        fmt::format("{}: line {} is not a verb, two blanks and a description", path.string(), line);
    extension.verbs.clear();
  } else if (extension.verbs.empty()) {
    extension.fault = fmt::format("{} has no verbs", path.string());
  }
  return extension;
}

}  // namespace

std::vector<Extension> InstalledExtensions() {
  std::vector<Extension> found;
  const auto prefix = InstallationFolder();
  if (!prefix.ok()) return found;
  std::error_code error;
  for (std::filesystem::directory_iterator each(*prefix / "share/attune/extensions", error), end;
       !error && each != end; each.increment(error)) {
    if (each->path().extension() == ".txt") found.push_back(ReadExtension(each->path()));
  }
  const bool is_missing = error == std::errc::no_such_file_or_directory;
  if (error && !is_missing) found.push_back({"*", "", {}, error.message()});
  std::sort(found.begin(), found.end(),
            [](const Extension& a, const Extension& b) { return a.name < b.name; });
  return found;
}

std::string VerbAmong(const std::vector<std::string>& words) {
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--help" || word == "-h" || word == "--version" || word == "--") return "";
    if (word == "--db") ++i;
    if (!word.starts_with("-")) return word;
  }
  return "";
}

bool HasVerb(const std::vector<Extension>& extensions, const std::string& verb) {
  return std::any_of(extensions.begin(), extensions.end(), [&](const Extension& extension) {
    return std::any_of(extension.verbs.begin(), extension.verbs.end(),
                       [&](const Extension::Verb& own) { return own.name == verb; });
  });
}

Status BecomeProgram(const std::string& name, char** argv) {
  const Result<std::filesystem::path> path = FindOwnProgram(name);
  if (!path.ok()) return path.error().WithContext("the extension with this verb is not complete");
  ::execv(path->c_str(), argv);
  return Unavailable(fmt::format("cannot start {}: {}", path->string(), std::strerror(errno)));
}

}  // namespace attune
