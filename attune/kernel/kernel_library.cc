#include "attune/kernel/kernel_library.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "attune/base/code_folder.h"
#include "attune/base/path_variable.h"
#include "attune/base/process_variables.h"
#include "attune/kernel/own_kernel.h"
#include "attune/ops/registry.h"

namespace attune::kernel {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxFilesPerFolder = 1000;
constexpr const char* kKernelPathVariable = "ATTUNE_KERNEL_PATH";

void AddJsonFiles(const fs::path& folder, std::vector<fs::path>& paths) {
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() == ".json" && paths.size() < kMaxFilesPerFolder)
      paths.push_back(it->path());
  }
}

// Those of the folder and of the folders in it that are named after operators, sorted by name.
std::vector<fs::path> JsonFiles(const fs::path& folder) {
  std::error_code error;
  if (fs::is_regular_file(folder, error)) return {folder};
  std::vector<fs::path> paths;
  AddJsonFiles(folder, paths);
  for (const Operator* op : Operators()) AddJsonFiles(folder / op->name(), paths);
  std::sort(paths.begin(), paths.end(), [](const fs::path& a, const fs::path& b) {
    return std::pair(a.filename(), a) < std::pair(b.filename(), b);
  });
  return paths;
}

// The folder of kernels that a file belongs to: above the folder of an operator.
fs::path FolderOf(const fs::path& file) {
  const fs::path folder = file.parent_path();
  return FindOperator(folder.filename().string()) != nullptr ? folder.parent_path() : folder;
}

LibraryReport ReportOf(const fs::path& path, const Result<KernelFile>& file) {
  LibraryReport report;
  report.name = "kernel " + path.stem().string();
  report.path = path.string();
  report.available = file.ok();
  if (!file.ok()) {
    report.missing = file.error().message();
    return report;
  }
  report.version = std::to_string(file->version);
  report.build_id = file->content.ToHex();
  return report;
}

// Returns the absolute folders in ATTUNE_KERNEL_PATH, or the relative ones if not `is_usable`.
std::vector<fs::path> ChosenFolders(bool is_usable = true) {
  const std::string chosen = VariableOr(kKernelPathVariable, "");
  std::vector<fs::path> folders;
  for (std::string_view rest = chosen; !rest.empty();) {
    const size_t colon = std::min(rest.find(':'), rest.size());
    const std::string_view folder = rest.substr(0, colon);
    if (colon > 0 && CheckCodePath(kKernelPathVariable, folder).ok() == is_usable) {
      folders.emplace_back(folder);
    }
    rest.remove_prefix(std::min(colon + 1, rest.size()));
  }
  return folders;
}

}  // namespace

std::vector<fs::path> ChosenKernelFiles() {
  std::vector<fs::path> files;
  for (const fs::path& folder : ChosenFolders()) {
    const std::vector<fs::path> more = JsonFiles(folder);
    files.insert(files.end(), more.begin(), more.end());
  }
  return files;
}

std::vector<LibraryReport> MissingKernelFolders() {
  std::vector<LibraryReport> reports;
  const auto add = [&](const fs::path& folder, const std::string& reason) {
    LibraryReport& report = reports.emplace_back();
    report.name = "kernel folder";
    report.path = folder.string();
    report.missing = reason;
    report.chosen_by = kKernelPathVariable;
  };
  for (const fs::path& folder : ChosenFolders(false)) {
    add(folder, CheckCodePath(kKernelPathVariable, folder.string()).message());
  }
  for (const fs::path& folder : ChosenFolders()) {
    std::error_code error;
    if (fs::is_regular_file(folder, error)) continue;
    fs::directory_iterator listing(folder, error);
    if (!error) continue;
    add(folder, fmt::format("Cannot read the folder {}: {}.", folder.string(), error.message()));
  }
  return reports;
}

std::vector<fs::path> KernelFolders() {
  std::vector<fs::path> folders = ChosenFolders();
  if (const auto prefix = InstallationFolder(); prefix.ok()) {
    folders.push_back(*prefix / "share/attune/kernels");
  }
  return folders;
}

namespace {

// The files read so far, and the names taken.
class LibraryReader {
 public:
  explicit LibraryReader(KernelLanguage language) : language_(language) {}

  void Read(const fs::path& path, bool is_chosen) {
    std::unique_ptr<KernelFile> reference;
    Result<KernelFile> file = LoadKernelFile(path, language_);
    if (file.ok() && file->own.has_value()) {
      auto loaded = LoadReference(path, *file);
      if (loaded.ok()) {
        reference = *std::move(loaded);
      } else {
        file = loaded.error();
      }
    }
    // It belongs to another backend, which reads and reports it.
    if (!file.ok() && file.error().code() == StatusCode::kUnsupported) return;
    LibraryReport report = ReportOf(path, file);
    if (file.ok()) {
      const auto [place, is_new] = owner_.try_emplace(file->name, path);
      // The same file, directly and in its folder, or another folder's of that name.
      if (!is_new && place->second == path) return;
      if (!is_new && FolderOf(place->second) != FolderOf(path)) return;
      if (is_new) {
        Take(path, *std::move(file), std::move(reference));
      } else {
        report.available = false;
        report.missing = fmt::format("{}: /name: '{}' is the name of {} already.", path.string(),
                                     file->name, place->second.string());
      }
    }
    if (!report.available && is_chosen) report.chosen_by = kKernelPathVariable;
    library_.reports.push_back(std::move(report));
  }

  KernelLibrary Finish() {
    std::stable_sort(files_.begin(), files_.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (auto& [name, file] : files_) library_.files.push_back(std::move(file));
    return std::move(library_);
  }

 private:
  void Take(const fs::path& path, KernelFile file, std::unique_ptr<KernelFile> reference) {
    const std::string name = path.filename().string();
    if (file.own.has_value()) {
      if (auto solver = MakeHostReference(file, path)) {
        library_.solvers.push_back(std::move(solver));
      }
    }
    files_.emplace_back(name, std::move(file));
    if (reference != nullptr) files_.emplace_back(name, std::move(*reference));
  }

  const KernelLanguage language_;
  KernelLibrary library_;
  std::map<std::string, fs::path> owner_;  // Solver name -> the file that brought it.
  std::vector<std::pair<std::string, KernelFile>> files_;
};

}  // namespace

KernelLibrary LoadKernelLibrary(const std::vector<fs::path>& folders, KernelLanguage language) {
  LibraryReader reader(language);
  const std::vector<fs::path> chosen = ChosenFolders();
  for (const fs::path& folder : folders) {
    const bool is_chosen = std::find(chosen.begin(), chosen.end(), folder) != chosen.end();
    for (const fs::path& path : JsonFiles(folder)) reader.Read(path, is_chosen);
  }
  return reader.Finish();
}

}  // namespace attune::kernel
