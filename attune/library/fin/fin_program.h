// AMD's `fin`, run as a process of its own for each question.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "attune/base/process_variables.h"
#include "attune/base/status.h"
#include "attune/library/fin/fin_request.h"
#include "attune/library/fin/fin_response.h"

namespace attune::fin {

inline constexpr const char* kUsualProgram = "/opt/rocm/bin/fin";

struct ProgramTerms {
  int64_t deadline_ns = 600'000'000'000;  // For each run.
  std::string device = "0";  // An ordinal for HIP_VISIBLE_DEVICES, where one is needed.
  // Set for it beside those of this process, and beside those that are always set.
  ProcessVariables variables = {};
  std::function<bool()> go_on = nullptr;  // Asked several times a second; may be null.
};

// Thread-safe. Each run has folders of its own for MIOpen's databases and caches, which fin
// empties.
class Program {
 public:
  // kNotFound if there is no such executable program.
  static Result<Program> Open(const std::string& path, ProgramTerms terms);

  // The path, and the hash of the program: records depend on both.
  const std::string& path() const { return path_; }
  const std::string& build_id() const { return build_id_; }

  // One run. kUnavailable if it dies or ends with another status than 0, kDeadlineExceeded if it is
  // killed for its time or because the run was stopped, each with its last output; kDataLoss if it
  // ends well without a readable answer. Otherwise errors as RequestFor.
  Result<Answer> Ask(const Question& question) const;
  // The same of a text that RequestFor made for `step` and the solvers `asked`.
  Result<Answer> AskText(const std::string& request, Step step,
                         const std::vector<std::string>& asked) const;

 private:
  // The text of one command, and the databases for the folder in which it runs.
  struct Command {
    const std::string& request;
    Step step;
    const std::vector<std::string>& asked;
    const UserDatabases& databases;
  };

  Program(std::string path, std::string build_id, ProgramTerms terms);
  Result<Answer> Ask(const Command& command) const;
  Result<std::string> Run(const std::filesystem::path& folder, Step step) const;

  std::string path_;
  std::string build_id_;
  ProgramTerms terms_;
};

}  // namespace attune::fin
