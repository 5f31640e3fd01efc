#include "backends/hip/hipcc.h"

#include <filesystem>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "attune/base/file.h"
#include "attune/base/fingerprint.h"
#include "attune/base/path_variable.h"
#include "attune/base/program_run.h"
#include "attune/base/scratch_folder.h"

namespace attune::hip {
namespace {

namespace fs = std::filesystem;

constexpr const char* kUsualProgram = "hipcc";
constexpr std::string_view kVersionLabel = "HIP version: ";
constexpr int64_t kVersionDeadlineNs = 20'000'000'000;
constexpr const char* kSourceName = "kernel.hip";
constexpr const char* kCodeName = "kernel.co";

// "5.2.21153-0" of the line "HIP version: 5.2.21153-0"; empty if there is none.
std::string VersionIn(const std::string& text) {
  const size_t label = text.find(kVersionLabel);
  if (label == std::string::npos) return "";
  const size_t begin = label + kVersionLabel.size();
  return text.substr(begin, text.find_first_of(" \r\n", begin) - begin);
}

}  // namespace

Hipcc::Hipcc(int64_t build_deadline_ns) : deadline_ns(build_deadline_ns) {
  report.name = "hipcc";
  const Result<std::string> named = CodeNameIn(kHipccVariable);
  if (!named.ok()) {
    report.chosen_by = kHipccVariable;
    report.missing = named.error().message();
    return;
  }
  const std::string& chosen = *named;
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
  // Without a device, hipcc complains on standard error, and continues.
  const Result<ProgramOutput> output =
      RunProgram({{report.path, "--version"}, "/", kVersionDeadlineNs});
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
  ATTUNE_ASSIGN_OR_RETURN(const auto folder, ScratchFolder::Make("attune-hip"));
  ATTUNE_RETURN_IF_ERROR(WriteFileAtomically(folder->path() / kSourceName, recipe.source));
  // Names without folders, and no identity of the file: the code must not depend on where it was
  // compiled.
  const ProgramCommand command{{hipcc.report.path, "--genco", "--offload-arch=" + recipe.target,
                                "-std=c++17", "-fuse-cuid=none", kSourceName, "-o", kCodeName},
                               folder->path(),
                               hipcc.deadline_ns};
  ATTUNE_ASSIGN_OR_RETURN(const ProgramOutput output, RunProgram(command));
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
  return Artifact{*std::move(code), output.log};
}

Status CheckHasKernel(std::string_view bundle, std::string_view function) {
  if (!bundle.starts_with("__CLANG_OFFLOAD_BUNDLE__")) return Status::Ok();
  // A kernel's descriptor has a symbol of its own, between two zeros.
  std::string symbol(1, '\0');
  symbol += function;
  symbol += std::string_view(".kd\0", 4);
  if (bundle.find(symbol) != std::string_view::npos) return Status::Ok();
  return NotFound(
      fmt::format("The compiled code has no kernel '{}', which a launch names. Name one that the "
                  "source has, or "
                  "put extern \"C\" before it there.",
                  function));
}

}  // namespace attune::hip
