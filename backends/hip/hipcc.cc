#include "backends/hip/hipcc.h"

#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <sstream>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "attune/base/file.h"
#include "attune/base/fingerprint.h"
#include "attune/base/process_variables.h"
#include "backends/hip/compiler_process.h"

namespace attune::hip {
namespace {

namespace fs = std::filesystem;

constexpr const char* kUsualProgram = "hipcc";
constexpr std::string_view kVersionLabel = "HIP version: ";
constexpr int64_t kVersionDeadlineNs = 20'000'000'000;
constexpr const char* kSourceName = "kernel.hip";
constexpr const char* kCodeName = "kernel.co";

bool IsProgram(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

// The program that `name` means, a path or a word that PATH knows; empty if there is none.
std::string FindProgram(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    return IsProgram(name) ? fs::absolute(name).string() : "";
  }
  std::istringstream folders(VariableOr("PATH", ""));
  for (std::string folder; std::getline(folders, folder, ':');) {
    const fs::path path = fs::path(folder) / name;
    if (!folder.empty() && IsProgram(path)) return fs::absolute(path).string();
  }
  return "";
}

// "5.2.21153-0" of the line "HIP version: 5.2.21153-0"; empty if there is none.
std::string VersionIn(const std::string& text) {
  const size_t label = text.find(kVersionLabel);
  if (label == std::string::npos) return "";
  const size_t begin = label + kVersionLabel.size();
  return text.substr(begin, text.find_first_of(" \r\n", begin) - begin);
}

// A folder for one compilation, gone with this object.
class ScratchFolder {
 public:
  static Result<std::unique_ptr<ScratchFolder>> Make() {
    std::error_code error;
    const fs::path parent = fs::temp_directory_path(error);
    std::string path = ((error ? fs::path("/tmp") : parent) / "attune-hip-XXXXXX").string();
    if (::mkdtemp(path.data()) == nullptr) {
      return Unavailable(fmt::format("Cannot make a folder '{}': {}.", path, strerror(errno)));
    }
    return std::unique_ptr<ScratchFolder>(new ScratchFolder(path));
  }
  ~ScratchFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const fs::path& path() const { return path_; }

 private:
  explicit ScratchFolder(fs::path path) : path_(std::move(path)) {}

  const fs::path path_;
};

}  // namespace

Hipcc::Hipcc(int64_t build_deadline_ns) : deadline_ns(build_deadline_ns) {
  report.name = "hipcc";
  const std::string chosen = VariableOr(kHipccVariable, "");
  if (!chosen.empty()) report.chosen_by = kHipccVariable;
  report.path = FindProgram(chosen.empty() ? kUsualProgram : chosen);
  if (report.path.empty()) {
    report.missing =
        chosen.empty()
            ? fmt::format(
                  "There is no 'hipcc' in PATH. Debian's package hipcc brings it; {} may "
                  "name another.",
                  kHipccVariable)
            : fmt::format("{} is '{}', which is no program.", kHipccVariable, chosen);
    return;
  }
  // Where there is no device, hipcc complains about that on standard error, and goes on.
  const Result<CompilerOutput> output =
      RunCompiler({{report.path, "--version"}, "/", kVersionDeadlineNs});
  report.version = output.ok() ? VersionIn(output->out) : "";
  if (report.version.empty()) {
    report.missing = fmt::format(
        "'{} --version' names no version of HIP: {}", report.path,
        output.ok() ? fmt::format("{}{}", output->out, output->log) : output.error().message());
    return;
  }
  // All of it: the same hipcc calls another clang after an upgrade of that.
  report.build_id = FingerprintOf(output->out).ToHex();
  report.available = true;
}

Result<BuildRecipe> MakeRecipe(const Hipcc& hipcc, std::string source, const std::string& arch) {
  if (!hipcc.available()) return Unavailable(hipcc.report.missing);
  BuildRecipe recipe;
  recipe.source = std::move(source);
  recipe.compiler = fmt::format("hipcc {} {}", hipcc.report.version, hipcc.report.build_id);
  recipe.target = arch;
  return recipe;
}

Result<Artifact> BuildCodeObject(const Hipcc& hipcc, const BuildRecipe& recipe) {
  if (!hipcc.available()) return Unavailable(hipcc.report.missing);
  ATTUNE_ASSIGN_OR_RETURN(const auto folder, ScratchFolder::Make());
  ATTUNE_RETURN_IF_ERROR(WriteFileAtomically(folder->path() / kSourceName, recipe.source));
  // Names without folders, and no identity of the file: the code must not depend on where it was
  // compiled.
  const CompilerCommand command{{hipcc.report.path, "--genco", "--offload-arch=" + recipe.target,
                                 "-std=c++17", "-fuse-cuid=none", kSourceName, "-o", kCodeName},
                                folder->path(),
                                hipcc.deadline_ns};
  ATTUNE_ASSIGN_OR_RETURN(const CompilerOutput output, RunCompiler(command));
  if (output.exit_status != 0) {
    return InvalidArgument(fmt::format("hipcc {} cannot compile for {}: exit status {}.\n{}",
                                       hipcc.report.version, recipe.target, output.exit_status,
                                       output.log));
  }
  Result<std::string> code = ReadFile(folder->path() / kCodeName);
  if (!code.ok() || code->empty()) {
    return Unavailable(fmt::format("hipcc {} ended well and wrote no code.\n{}",
                                   hipcc.report.version, output.log));
  }
  return Artifact{*std::move(code)};
}

}  // namespace attune::hip
