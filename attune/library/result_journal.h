// Results of commands, kept as the commands end. docs/formats/profile_results.md.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "attune/base/status.h"
#include "attune/base/unique_fd.h"
#include "attune/library/command_file.h"
#include "attune/library/json_line.h"
#include "attune/library/profiler_runner.h"

namespace attune {

// One line of the journal, and one element of the output of --json.
Json ToJson(const ListedCommand& command, const ProfilerOutcome& outcome);

// Back again from a line with the fate done; its outputs are not kept.
ProfilerOutcome DoneOutcome(const Json& result);

// A file of JSON lines that one process at a time appends to. Not thread-safe.
class ResultJournal {
 public:
  // Opens the file, or creates it. A last line that is incomplete because a process was killed is
  // cut off. kInvalidArgument for a device or a pipe; kFailedPrecondition while another process has
  // it; kDataLoss names the line (from 1) that is no line of a journal, or of another version.
  static Result<std::unique_ptr<ResultJournal>> Open(const std::filesystem::path& path);

  // The result of `command` that was kept before, if it was done: each serves one command of the
  // same words and variables.
  std::optional<Json> TakeDone(const ListedCommand& command);
  // Durable when it returns Ok.
  Status Append(const Json& result);

 private:
  ResultJournal(std::filesystem::path path, UniqueFd file)
      : path_(std::move(path)), file_(std::move(file)) {}

  Status Read();
  Status ReadLine(std::string_view text, int number);
  // The error that a file which begins with `first_line` is no journal.
  Status NoJournal(std::string_view first_line) const;

  const std::filesystem::path path_;
  const UniqueFd file_;
  std::multimap<std::string, Json> done_;  // By the identity of commands.
};

}  // namespace attune
