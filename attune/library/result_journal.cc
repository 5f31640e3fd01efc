#include "attune/library/result_journal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "attune/base/file.h"
#include "attune/base/open_file.h"
#include "attune/base/text.h"
#include "attune/base/told_time.h"

namespace attune {
namespace {

constexpr int kVersion = 1;
constexpr const char* kVersionField = "attune_profile";
constexpr size_t kKeptBytes = 4096;  // For each output of a command that failed.

std::string KeyOf(const Json& command, const Json& variables) {
  return Json::array({command, variables})
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Json VariablesOf(const ListedCommand& command) {
  Json variables = Json::object();
  for (const auto& [name, value] : command.command.variables) variables[name] = value;
  return variables;
}

// The JSON field for `number` of the outcome; empty if it means nothing.
const char* NumberField(ProfilerFate fate) {
  if (fate == ProfilerFate::kExitStatus) return "exit_status";
  return fate == ProfilerFate::kSignalled ? "signal" : "";
}

// True if a kept result has all fields that readers here rely on.
bool IsResult(const Json& json) {
  const auto has = [&json](const char* field, Json::value_t type) {
    return json.contains(field) && json[field].type() == type;
  };
  if (!json.is_object() || !has("command", Json::value_t::array) ||
      !has("variables", Json::value_t::object) || !has("fate", Json::value_t::string) ||
      !has("device", Json::value_t::string) || !has("ops", Json::value_t::array)) {
    return false;
  }
  constexpr double kNsInMs = 1e6;
  for (const Json& op : json["ops"]) {
    const bool is_op = op.is_object() && op.contains("name") && op["name"].is_string() &&
                       op.contains("time_ms") && op["time_ms"].is_number() &&
                       CanBeMeasured(op["time_ms"].get<double>() * kNsInMs) &&
                       op.contains("workspace_bytes") && op["workspace_bytes"].is_number_integer();
    if (!is_op) return false;
  }
  return true;
}

template <class T>
T NumberOr(const Json& json, const char* field, T otherwise) {
  return json.contains(field) && json[field].is_number_integer() ? json[field].get<T>() : otherwise;
}

}  // namespace

Json ToJson(const ListedCommand& command, const ProfilerOutcome& outcome) {
  Json json = {{"line", command.line},
               {"command", command.command.words},
               {"variables", VariablesOf(command)},
               {"fate", Name(outcome.fate)},
               {"device", outcome.device},
               {"attempts", outcome.attempts},
               {"wall_ns", outcome.wall_ns},
               {"ops", Json::array()}};
  for (const ProfiledOp& op : outcome.ops) {
    json["ops"].push_back({{"name", op.name},
                           {"time_ms", op.time_ms},
                           {"workspace_bytes", op.workspace_bytes},
                           {"samples", op.samples}});
  }
  if (const char* field = NumberField(outcome.fate); *field != '\0') json[field] = outcome.number;
  if (outcome.fate != ProfilerFate::kDone) {
    PutBytes("message", outcome.message, json);
    PutBytes("out", FirstBytes(outcome.out, kKeptBytes), json);
    PutBytes("log", FirstBytes(outcome.log, kKeptBytes), json);
  }
  return json;
}

ProfilerOutcome DoneOutcome(const Json& result) {
  ProfilerOutcome outcome;
  outcome.fate = ProfilerFate::kDone;
  outcome.device = result["device"].get<std::string>();
  outcome.attempts = NumberOr(result, "attempts", 1);
  outcome.wall_ns = NumberOr(result, "wall_ns", int64_t{0});
  for (const Json& op : result["ops"]) {
    outcome.ops.push_back({op["name"].get<std::string>(), op["time_ms"].get<double>(),
                           op["workspace_bytes"].get<int64_t>(), NumberOr(op, "samples", 1)});
  }
  return outcome;
}

Result<std::unique_ptr<ResultJournal>> ResultJournal::Open(const std::filesystem::path& path) {
  constexpr mode_t kMode = 0644;
  UniqueFd file = OpenFile(path, O_RDWR | O_CREAT | O_APPEND, kMode);
  if (!file.valid()) return SystemError("open", path);
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return SystemError("examine", path);
  if (!S_ISREG(info.st_mode)) {
    return InvalidArgument(
        fmt::format("'{}' is no file that keeps what is written to it. Name another one after -o.",
                    path.string()));
  }
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return SystemError("lock", path);
    return FailedPrecondition(
        fmt::format("Another process writes its results to '{}'. Wait for it, or name another "
                    "file after -o.",
                    path.string()));
  }
  std::unique_ptr<ResultJournal> journal(new ResultJournal(path, std::move(file)));
  ATTUNE_RETURN_IF_ERROR(journal->Read());
  return journal;
}

Status ResultJournal::Read() {
  ATTUNE_ASSIGN_OR_RETURN(const std::string content, ReadAll(file_.get(), path_));
  const size_t kept = content.rfind('\n') == std::string::npos ? 0 : content.rfind('\n') + 1;
  std::string_view rest = std::string_view(content).substr(0, kept);
  for (int number = 1; !rest.empty(); ++number) {
    const size_t end = rest.find('\n');
    ATTUNE_RETURN_IF_ERROR(ReadLine(rest.substr(0, end), number));
    rest.remove_prefix(end + 1);
  }
  // A file with another first line is not ours, and is not cut.
  const std::string first_line = DumpLine({{kVersionField, kVersion}});
  if (kept == 0 && !first_line.starts_with(content)) return NoJournal(content);
  if (kept < content.size() && ::ftruncate(file_.get(), static_cast<off_t>(kept)) != 0) {
    return SystemError("shorten", path_);
  }
  return kept == 0 ? Append({{kVersionField, kVersion}}) : Status::Ok();
}

Status ResultJournal::NoJournal(std::string_view first_line) const {
  return DataLoss(
      fmt::format("'{}' is no journal of 'attune profile' of version {}: line 1 is "
                  "'{}'. Name another file after -o.",
                  path_.string(), kVersion, Excerpt(first_line)));
}

Status ResultJournal::ReadLine(std::string_view text, int number) {
  Json json = Json::parse(text, nullptr, false);
  if (number == 1) {
    if (json.is_object() && json.contains(kVersionField) && json[kVersionField] == kVersion) {
      return Status::Ok();
    }
    return NoJournal(text);
  }
  if (!IsResult(json)) {
    return DataLoss(
        fmt::format("Line {} of '{}' is no result: '{}'. Take it out, or name another "
                    "file after -o.",
                    number, path_.string(), Excerpt(text)));
  }
  if (json["fate"] != Name(ProfilerFate::kDone)) return Status::Ok();
  const std::string key = KeyOf(json["command"], json["variables"]);
  done_.emplace(key, std::move(json));
  return Status::Ok();
}

std::optional<Json> ResultJournal::TakeDone(const ListedCommand& command) {
  const auto found = done_.find(KeyOf(Json(command.command.words), VariablesOf(command)));
  if (found == done_.end()) return std::nullopt;
  Json result = std::move(found->second);
  done_.erase(found);
  result["line"] = command.line;
  return result;
}

Status ResultJournal::Append(const Json& result) {
  ATTUNE_RETURN_IF_ERROR(WriteAll(file_.get(), DumpLine(result), path_));
  return ::fdatasync(file_.get()) == 0 ? Status::Ok() : SystemError("sync", path_);
}

}  // namespace attune
