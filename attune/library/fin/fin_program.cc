#include "attune/library/fin/fin_program.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "attune/base/file.h"
#include "attune/base/fingerprint.h"
#include "attune/base/program_run.h"
#include "attune/base/scratch_folder.h"
#include "attune/library/program_failure.h"

namespace attune::fin {
namespace {

constexpr const char* kRequestFile = "in.json";
constexpr const char* kResponseFile = "out.json";
constexpr const char* kDatabases = "db";
constexpr const char* kCache = "cache";
// Limit for all files of one user together.
constexpr size_t kMostDatabaseBytes = size_t{64} << 20;

Status WriteDatabases(const UserDatabases& databases, const std::filesystem::path& folder) {
  for (const auto& [name, content] : databases) {
    const std::filesystem::path path = folder / name;
    std::error_code error;
    std::filesystem::create_directories(path.parent_path(), error);
    if (error) return Unavailable(fmt::format("There is no folder for fin: {}", error.message()));
    ATTUNE_RETURN_IF_ERROR(WriteFileAtomically(path, content));
  }
  return Status::Ok();
}

Result<UserDatabases> ReadDatabases(const std::filesystem::path& folder) {
  UserDatabases databases;
  size_t bytes = 0;
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator file(folder, error), end;
       !error && file != end; file.increment(error)) {
    if (file->is_symlink(error) || !file->is_regular_file(error)) continue;
    ATTUNE_ASSIGN_OR_RETURN(std::string content, ReadFile(file->path(), kMostDatabaseBytes));
    bytes += content.size();
    if (bytes > kMostDatabaseBytes) {
      return ResourceExhausted(fmt::format(
          "MIOpen's databases of one search have more than {} bytes.", kMostDatabaseBytes));
    }
    databases.emplace(file->path().lexically_relative(folder).string(), std::move(content));
  }
  if (error) return Unavailable(fmt::format("MIOpen's databases of a search: {}", error.message()));
  return databases;
}

}  // namespace

Program::Program(std::string path, std::string build_id, ProgramTerms terms)
    : path_(std::move(path)), build_id_(std::move(build_id)), terms_(std::move(terms)) {}

Result<Program> Program::Open(const std::string& path, ProgramTerms terms) {
  std::string found = FindProgram(path);
  if (found.empty()) {
    return NotFound(fmt::format("There is no program '{}' that may be run.", path));
  }
  ATTUNE_ASSIGN_OR_RETURN(const std::string content, ReadFile(found));
  return Program(std::move(found), FingerprintOf(content).ToHex(), std::move(terms));
}

Result<std::string> Program::Run(const std::filesystem::path& folder, Step step) const {
  ProgramCommand command;
  command.words = {path_, "-i", (folder / kRequestFile).string(), "-o",
                   (folder / kResponseFile).string()};
  command.folder = folder;
  command.deadline_ns = terms_.deadline_ns;
  command.go_on = terms_.go_on;
  command.variables = {{"MIOPEN_FIND_MODE", "1"},
                       {"MIOPEN_SQLITE_KERN_CACHE", "ON"},
                       {"MIOPEN_DEBUG_IMPLICIT_GEMM_FIND_ALL_SOLUTIONS", "1"},
                       {"MIOPEN_USER_DB_PATH", (folder / kDatabases).string()},
                       {"MIOPEN_CUSTOM_CACHE_DIR", (folder / kCache).string()}};
  if (NeedsDevice(step)) command.variables["HIP_VISIBLE_DEVICES"] = terms_.device;
  for (const auto& [name, value] : terms_.variables) command.variables[name] = value;
  ATTUNE_ASSIGN_OR_RETURN(const ProgramEnd end, RunToEnd(command));
  if (const auto failure = FailureOf(end, Phase::kRun, terms_.deadline_ns)) {
    const bool is_late = failure->kind == FailureKind::kTimedOut;
    return is_late ? DeadlineExceeded(failure->message) : Unavailable(failure->message);
  }
  auto response = ReadFileAtOnce(folder / kResponseFile);
  if (!response.ok()) {
    return DataLoss(
        fmt::format("It ended well and wrote no answer: {}", response.error().message()));
  }
  return response;
}

Result<Answer> Program::Ask(const Question& question) const {
  ATTUNE_ASSIGN_OR_RETURN(const std::string request, RequestFor(question));
  return Ask({request, question.step, question.solvers, question.databases});
}

Result<Answer> Program::AskText(const std::string& request, Step step,
                                const std::vector<std::string>& asked) const {
  return Ask({request, step, asked, {}});
}

Result<Answer> Program::Ask(const Command& command) const {
  ATTUNE_ASSIGN_OR_RETURN(const auto folder, ScratchFolder::Make("attune-fin"));
  for (const char* name : {kDatabases, kCache}) {
    std::error_code error;
    std::filesystem::create_directory(folder->path() / name, error);
    if (error) return Unavailable(fmt::format("There is no folder for fin: {}", error.message()));
  }
  ATTUNE_RETURN_IF_ERROR(WriteDatabases(command.databases, folder->path() / kDatabases));
  ATTUNE_RETURN_IF_ERROR(WriteFileAtomically(folder->path() / kRequestFile, command.request));
  ATTUNE_ASSIGN_OR_RETURN(const std::string response, Run(folder->path(), command.step));
  ATTUNE_ASSIGN_OR_RETURN(Answer answer, ParseResponse(response, command.step, command.asked));
  if (command.step == Step::kPerfEval) {
    ATTUNE_ASSIGN_OR_RETURN(answer.databases, ReadDatabases(folder->path() / kDatabases));
  }
  return answer;
}

}  // namespace attune::fin
