#include "attune/fin/fin_program.h"

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

// The question about one of its solvers.
Question About(const Question& question, const std::string& solver) {
  Question one = question;
  one.solvers = {solver};
  std::erase_if(one.compiled, [&solver](const auto& item) { return item.first != solver; });
  return one;
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
                       {"MIOPEN_USER_DB_PATH", (folder / "db").string()},
                       {"MIOPEN_CUSTOM_CACHE_DIR", (folder / "cache").string()}};
  if (NeedsDevice(step)) command.variables["HIP_VISIBLE_DEVICES"] = terms_.device;
  for (const auto& [name, value] : terms_.variables) command.variables[name] = value;
  ATTUNE_ASSIGN_OR_RETURN(const ProgramEnd end, RunToEnd(command));
  if (const auto failure = FailureOf(end, Phase::kRun, terms_.deadline_ns)) {
    const bool is_late = failure->kind == FailureKind::kTimedOut;
    return is_late ? DeadlineExceeded(failure->message) : Unavailable(failure->message);
  }
  auto response = ReadFile(folder / kResponseFile);
  if (!response.ok()) {
    return DataLoss(
        fmt::format("It ended well and wrote no answer: {}", response.error().message()));
  }
  return response;
}

Result<Answer> Program::Ask(const Question& question) const {
  ATTUNE_ASSIGN_OR_RETURN(const std::string request, RequestFor(question));
  return AskText(request, question.step, question.solvers);
}

Result<Answer> Program::AskText(const std::string& request, Step step,
                                const std::vector<std::string>& asked) const {
  ATTUNE_ASSIGN_OR_RETURN(const auto folder, ScratchFolder::Make("attune-fin"));
  for (const char* name : {"db", "cache"}) {
    std::error_code error;
    std::filesystem::create_directory(folder->path() / name, error);
    if (error) return Unavailable(fmt::format("There is no folder for fin: {}", error.message()));
  }
  ATTUNE_RETURN_IF_ERROR(WriteFileAtomically(folder->path() / kRequestFile, request));
  ATTUNE_ASSIGN_OR_RETURN(const std::string response, Run(folder->path(), step));
  return ParseResponse(response, step, asked);
}

Result<Answer> Program::AskEach(const Question& question) const {
  auto together = Ask(question);
  const bool is_about_the_run =
      !together.ok() && (together.error().code() == StatusCode::kUnavailable ||
                         together.error().code() == StatusCode::kDeadlineExceeded ||
                         together.error().code() == StatusCode::kDataLoss);
  if (!is_about_the_run || question.solvers.size() < 2) return together;
  Answer answer;
  for (const std::string& solver : question.solvers) {
    if (terms_.go_on != nullptr && !terms_.go_on()) return together;
    const Question one = About(question, solver);
    // Of an evaluation, what was not compiled.
    if (NeedsDevice(question.step) && one.compiled.empty()) {
      answer.outcomes.emplace_back().solver = solver;
      answer.outcomes.back().failure = "There is nothing compiled of it.";
      continue;
    }
    auto alone = Ask(one);
    if (alone.ok()) {
      answer.find_key = alone->find_key;
      for (Outcome& outcome : alone->outcomes) {
        if (outcome.solver == solver) answer.outcomes.push_back(std::move(outcome));
      }
      continue;
    }
    answer.outcomes.emplace_back().solver = solver;
    answer.outcomes.back().failure = alone.error().message();
  }
  return answer;
}

}  // namespace attune::fin
