// References that are no kernels: a user's program, or stored results.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "attune/base/file.h"
#include "attune/base/program_run.h"
#include "attune/base/scratch_folder.h"
#include "attune/kernel/data_file.h"
#include "attune/kernel/kernel_plan.h"
#include "attune/kernel/own_kernel.h"
#include "attune/problem/own_kernel.h"

namespace attune::kernel {
namespace {

namespace fs = std::filesystem;

// A caller with a shorter limit ends the process that waits for the program, which ends the
// program, too.
constexpr int64_t kDeadlineNs = 3600LL * 1'000'000'000;
constexpr size_t kMostLogBytes = 500;

// The end of a program's output, where most programs print why they ended, without half a line.
std::string_view EndOf(std::string_view log) {
  log = log.substr(0, log.find_last_not_of(" \n\r\t") + 1);
  if (log.size() <= kMostLogBytes) return log;
  log.remove_prefix(log.size() - kMostLogBytes);
  return log.substr(log.find('\n') + 1);
}

std::string_view Text(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The error that the files of a program, which lie among the temporary ones, cannot be written. It
// is no property of the problem, as exhausted resources would be.
Status AboutTemporary(const Status& failure) {
  return Unavailable(failure.message() + " TMPDIR names another folder for temporary files.");
}

class ProgramExecutable final : public Executable {
 public:
  ProgramExecutable(std::vector<std::string> words, fs::path folder, OwnKernelProblem own,
                    Device& device)
      : words_(std::move(words)),
        folder_(std::move(folder)),
        own_(std::move(own)),
        device_(device) {}

  size_t workspace_bytes() const override { return 0; }

  Status Run(const Arguments& arguments) override {
    ATTUNE_RETURN_IF_ERROR(device_.Synchronize());
    const auto scratch_or = ScratchFolder::Make("attune-reference");
    if (!scratch_or.ok()) return AboutTemporary(scratch_or.error());
    const fs::path& scratch = (*scratch_or)->path();
    const std::vector<Operand> operands = OperandsOf(own_);
    for (size_t i = 0; i < operands.size(); ++i) {
      if (operands[i].role == OperandRole::kOut) continue;
      std::vector<std::byte> bytes(SpanBytes(operands[i].tensor));
      ATTUNE_RETURN_IF_ERROR(device_.Download(arguments.operands[i], bytes));
      const Status written = WriteFileAtomically(scratch / (operands[i].name + ".in"), Text(bytes));
      if (!written.ok()) return AboutTemporary(written);
    }
    ATTUNE_RETURN_IF_ERROR(RunOn(scratch));
    for (size_t i = 0; i < operands.size(); ++i) {
      if (operands[i].role == OperandRole::kIn) continue;
      ATTUNE_ASSIGN_OR_RETURN(const std::string bytes, OutputOf(operands[i], scratch));
      ATTUNE_RETURN_IF_ERROR(
          device_.Upload(std::as_bytes(std::span(bytes)), arguments.operands[i]));
    }
    return Status::Ok();
  }

 private:
  Status RunOn(const fs::path& scratch) const {
    std::vector<std::string> words = words_;
    words.push_back(scratch.string());
    for (const auto& [name, value] : own_.sizes) words.push_back(fmt::format("{}={}", name, value));
    ATTUNE_ASSIGN_OR_RETURN(const ProgramOutput output,
                            RunProgram({std::move(words), folder_, kDeadlineNs}));
    if (output.exit_status == 0) return Status::Ok();
    return Unavailable(fmt::format("The reference program '{}' ended with status {}: {}", words_[0],
                                   output.exit_status, EndOf(output.log)));
  }

  Result<std::string> OutputOf(const Operand& operand, const fs::path& scratch) const {
    const size_t size_bytes = SpanBytes(operand.tensor);
    const fs::path path = scratch / (operand.name + ".out");
    auto bytes = ReadFileAtOnce(path, size_bytes + 1);
    const bool is_whole = bytes.ok() && bytes->size() == size_bytes;
    if (is_whole) return bytes;
    std::error_code is_no_file;
    const uintmax_t written_bytes = fs::file_size(path, is_no_file);
    return Unavailable(fmt::format(
        "The reference program '{}' has to write {} bytes into {}.out in the folder that it is "
        "given, and {}.",
        words_[0], size_bytes, operand.name,
        is_no_file ? "did not" : fmt::format("wrote {}", written_bytes)));
  }

  const std::vector<std::string> words_;
  const fs::path folder_;
  const OwnKernelProblem own_;
  Device& device_;
};

// Copies the outputs of the captured launch.
class DataExecutable final : public Executable {
 public:
  DataExecutable(const OwnReference& reference, fs::path folder, OwnKernelProblem own,
                 Device& device)
      : files_(reference.data), folder_(std::move(folder)), own_(std::move(own)), device_(device) {}

  size_t workspace_bytes() const override { return 0; }

  Status Run(const Arguments& arguments) override {
    const std::vector<Operand> operands = OperandsOf(own_);
    for (size_t i = 0; i < operands.size(); ++i) {
      if (operands[i].role == OperandRole::kIn) continue;
      ATTUNE_ASSIGN_OR_RETURN(const std::string bytes,
                              ReadDataFile(folder_, files_.find(operands[i].name)->second,
                                           SpanBytes(operands[i].tensor)));
      ATTUNE_RETURN_IF_ERROR(
          device_.Upload(std::as_bytes(std::span(bytes)), arguments.operands[i]));
    }
    return Status::Ok();
  }

 private:
  const std::map<std::string, DataFile, std::less<>> files_;
  const fs::path folder_;
  const OwnKernelProblem own_;
  Device& device_;
};

// Removes properties that only a device knows, and the source, which is not compiled.
KernelFile ForAnyDevice(KernelFile file) {
  file.applies.clear();
  file.source.clear();
  return file;
}

class HostReference final : public Solver {
 public:
  HostReference(const KernelFile& file, fs::path folder)
      : file_(ForAnyDevice(file)),
        folder_(std::move(folder)),
        id_{fmt::format("{}{}", file.solver_name(), kReferenceSuffix), 1} {
    const OwnReference& reference = file.own->reference;
    traits_.description =
        fmt::format("The reference of kernel {}: {}", file.name,
                    reference.program.empty() ? "captured data" : reference.program.front());
    traits_.operator_name = file.operator_name;
    traits_.last_resort = true;
  }

  const SolverId& id() const override { return id_; }
  const SolverTraits& traits() const override { return traits_; }
  Status IsApplicable(const Problem& problem, const Target& target) const override {
    if (target.backend != Name(file_.language)) {
      return Unsupported(fmt::format("{} is for {} devices, not for '{}'.", id_.name,
                                     Name(file_.language), target.backend));
    }
    return CheckApplies(file_, problem, {});
  }
  Result<ConfigSpace> Space(const Problem&, const Target&) const override { return ConfigSpace(); }
  Result<BuildRecipe> Recipe(const Problem&, const Config&, const Target&) const override {
    return BuildRecipe();
  }
  Result<Artifact> Build(const BuildRecipe&) const override { return Artifact(); }
  Result<std::unique_ptr<Executable>> Load(const Artifact&, const Problem& problem, const Config&,
                                           Device& device) const override {
    ATTUNE_ASSIGN_OR_RETURN(OwnKernelProblem own, OwnKernelOf(problem));
    if (file_.own->reference.program.empty()) {
      return std::unique_ptr<Executable>(
          std::make_unique<DataExecutable>(file_.own->reference, folder_, std::move(own), device));
    }
    std::vector<std::string> words = file_.own->reference.program;
    const bool is_path = words[0].find('/') != std::string::npos;
    const std::string program = FindProgram(is_path ? (folder_ / words[0]).string() : words[0]);
    if (program.empty()) {
      return NotFound(fmt::format(
          "The reference '{}' of kernel {} is no program: {}.", words[0], file_.own->name,
          is_path ? fmt::format("there is no executable file '{}'", (folder_ / words[0]).string())
                  : "no folder of PATH has it, and a path from the folder of the kernel file has a "
                    "'/', as './" +
                        words[0] + "'"));
    }
    words[0] = program;
    return std::unique_ptr<Executable>(
        std::make_unique<ProgramExecutable>(std::move(words), folder_, std::move(own), device));
  }

 private:
  const KernelFile file_;
  const fs::path folder_;
  const SolverId id_;
  SolverTraits traits_;
};

}  // namespace

std::unique_ptr<const Solver> MakeHostReference(const KernelFile& file,
                                                const std::filesystem::path& path) {
  const OwnReference& reference = file.own->reference;
  if (reference.program.empty() && reference.data.empty()) return nullptr;
  std::error_code ignored;
  fs::path folder = fs::absolute(path, ignored).parent_path();
  return std::make_unique<HostReference>(file, std::move(folder));
}

}  // namespace attune::kernel
