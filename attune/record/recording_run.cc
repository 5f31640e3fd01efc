#include "attune/record/recording_run.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "attune/base/file.h"
#include "attune/base/file_size_signal.h"
#include "attune/record/spool_file.h"

namespace attune {
namespace {

constexpr std::string_view kPipeSuffix = ".run";
constexpr size_t kIdDigits = 16;
constexpr mode_t kPipeMode = 0600;
constexpr time_t kNewPipeS = 60;

std::string PipeName(const std::string& id) { return id + std::string(kPipeSuffix); }

// The ID comes from the environment and becomes part of a path.
bool IsId(std::string_view id) {
  return id.size() == kIdDigits && id.find_first_not_of("0123456789abcdef") == id.npos;
}

// Invalid if no command reads the pipe.
UniqueFd OpenPipeToWrite(int folder, std::string_view id) {
  if (!IsId(id)) return UniqueFd();
  char name[kIdDigits + kPipeSuffix.size() + 1] = {};
  id.copy(name, kIdDigits);
  kPipeSuffix.copy(name + kIdDigits, kPipeSuffix.size());
  UniqueFd pipe = OpenIn(folder, name, O_WRONLY);
  struct stat info {};
  if (!pipe.valid() || ::fstat(pipe.get(), &info) != 0 || !S_ISFIFO(info.st_mode)) {
    return UniqueFd();
  }
  return pipe;
}

}  // namespace

Result<RecordingRun> RecordingRun::Begin(const SpoolPlace& place) {
  ATTUNE_ASSIGN_OR_RETURN(UniqueFd folder, OpenOwnSpoolFolder(place));
  RemoveDeadRuns(folder.get());
  const std::string id = RandomWord();
  const std::filesystem::path in = SpoolFolderOf(place.database, ::geteuid());
  const std::filesystem::path path = in / PipeName(id);
  if (::mkfifoat(folder.get(), PipeName(id).c_str(), kPipeMode) != 0) {
    return SystemError("make pipe", path);
  }
  UniqueFd pipe = OpenIn(folder.get(), PipeName(id).c_str(), O_RDONLY);
  if (!pipe.valid()) return SystemError("open pipe", path);
  return RecordingRun(in, std::move(folder), std::move(pipe), id);
}

RecordingRun::~RecordingRun() {
  if (!folder_.valid()) return;
  ::unlinkat(folder_.get(), PipeName(id_).c_str(), 0);
  pipe_.Reset();
  RemoveDeadRuns(folder_.get());
  ::rmdir(path_.c_str());  // Succeeds only if it is empty.
}

void RecordingRun::CountFiles(std::string_view suffix, RecordedCount& count) {
  for (const std::string& name : NamesIn(folder_.get(), suffix, kMaxSpoolFiles)) {
    if (RunOf(name) != id_) continue;
    const UniqueFd file = OpenIn(folder_.get(), name.c_str(), O_RDONLY);
    if (!file.valid() || !IsSpoolOf(::geteuid(), file.get(), folder_.get(), name.c_str())) continue;
    const auto text = ReadAll(file.get(), name, kMaxSpoolBytes + kSpoolReserveBytes);
    if (!text.ok()) continue;
    const auto content = ParseSpool(*text);
    if (!content.ok()) continue;
    for (const Problem& problem : content->problems) counted_.insert(KeyOf(problem));
    count.losses.insert(count.losses.end(), content->losses.begin(), content->losses.end());
  }
}

RecordedCount RecordingRun::Count(const std::set<Fingerprint>& known) {
  RecordedCount count;
  counted_.clear();
  CountFiles(kImportedSuffix, count);
  const size_t imported = counted_.size();
  CountFiles(kSpoolSuffix, count);
  count.problems = static_cast<int64_t>(counted_.size());
  count.waiting = static_cast<int64_t>(counted_.size() - imported);
  count.added = std::count_if(counted_.begin(), counted_.end(),
                              [&](const Fingerprint& problem) { return !known.contains(problem); });
  for (SpoolLoss& loss : TakeTold()) count.losses.push_back(std::move(loss));
  return count;
}

// Processes write each line at once, so no line is incomplete.
std::vector<SpoolLoss> RecordingRun::TakeTold() {
  std::string told;
  char part[PIPE_BUF];
  ssize_t size = 0;
  while ((size = ::read(pipe_.get(), part, sizeof part)) > 0) {
    told.append(part, static_cast<size_t>(size));
  }
  const auto content = ParseSpool(Text(SpoolHeader{}) + told);
  return content.ok() ? content->losses : std::vector<SpoolLoss>();
}

bool IsRunning(int folder, const std::string& id) { return OpenPipeToWrite(folder, id).valid(); }

bool TellRun(const SpoolPlace& place, const std::string& id, const SpoolLoss& loss) {
  SpoolLoss told = loss;
  constexpr size_t kMaxReasonBytes = 512;  // Up to three times as long when escaped.
  told.reason.resize(std::min(told.reason.size(), kMaxReasonBytes));
  return TellRunAtOnce(SpoolFolderOf(place.database, ::geteuid()), id, LossLine(told));
}

bool TellRunAtOnce(const std::filesystem::path& folder_path, std::string_view id,
                   std::string_view line) {
  if (!IsId(id)) return false;
  const UniqueFd folder = OpenOwnSpoolFolderAtOnce(folder_path);
  const UniqueFd pipe = folder.valid() ? OpenPipeToWrite(folder.get(), id) : UniqueFd();
  if (!pipe.valid()) return false;
  const SignalHeld broken(SIGPIPE);  // The command may end at any time.
  return ::write(pipe.get(), line.data(), line.size()) == static_cast<ssize_t>(line.size());
}

void RemoveDeadRuns(int folder) {
  for (const std::string& name : NamesIn(folder, kImportedSuffix, kMaxSpoolFiles)) {
    if (!IsRunning(folder, RunOf(name))) ::unlinkat(folder, name.c_str(), 0);
  }
  for (const std::string& name : NamesIn(folder, kPipeSuffix, kMaxSpoolFiles)) {
    const std::string id = name.substr(0, name.size() - kPipeSuffix.size());
    struct stat info {};
    const bool is_pipe = IsId(id) && !IsRunning(folder, id) &&
                         ::fstatat(folder, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
    // A new pipe gets its reader a moment after its creation.
    if (is_pipe && info.st_mtime + kNewPipeS < ::time(nullptr)) {
      ::unlinkat(folder, name.c_str(), 0);
    }
  }
}

}  // namespace attune
