#include "attune/base/host_messages.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/single_threaded.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "attune/base/file_size_signal.h"
#include "attune/base/open_file.h"
#include "attune/base/unique_fd.h"

namespace attune {
namespace {

constexpr std::string_view kLetters = "drw";  // Of the complaints.
constexpr size_t kWordDigits = 16;
constexpr time_t kMarkLifeS = 24 * 3600;

struct Identity {
  dev_t device = 0;
  ino_t inode = 0;
  bool is_noted = false;
};

// Global because it belongs to the process, and nobody can hand down what was so at its start.
std::array<Identity, 3> at_start;
std::array<std::atomic<bool>, kLetters.size()> has_reported = {};

// The value in the environment itself, because setenv() would move what other threads read.
char* ReportedInEnvironment() {
  char* reported = std::getenv(kReportedVariable);
  if (reported == nullptr) return nullptr;
  const std::string_view value = reported;
  const bool is_ours =
      value.size() == kLetters.size() + kWordDigits &&
      value.substr(kLetters.size()).find_first_not_of("0123456789abcdef") == value.npos;
  return is_ours ? reported : nullptr;
}

// The folder of this user for marks; invalid where there can be none that others keep out of.
UniqueFd OpenMarks() {
  constexpr mode_t kOthers = S_IRWXG | S_IRWXO;
  const std::string path = fmt::format("/tmp/attune-reported-{}", ::geteuid());
  if (::mkdir(path.c_str(), S_IRWXU) != 0 && errno != EEXIST) return UniqueFd();
  UniqueFd folder = OpenFile(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  struct stat info {};
  const bool is_ours = folder.valid() && ::fstat(folder.get(), &info) == 0 &&
                       info.st_uid == ::geteuid() && (info.st_mode & kOthers) == 0;
  return is_ours ? std::move(folder) : UniqueFd();
}

void RemoveOldMarks(int folder) {
  UniqueFd again(::dup(folder));
  DIR* names = again.valid() ? ::fdopendir(again.get()) : nullptr;
  if (names == nullptr) return;
  (void)again.Release();  // closedir() closes it.
  std::vector<std::string> old;
  const time_t now = ::time(nullptr);
  while (const dirent* entry = ::readdir(names)) {
    struct stat info {};
    const bool is_mark =
        ::fstatat(folder, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(info.st_mode);
    if (is_mark && info.st_mtime + kMarkLifeS < now) old.emplace_back(entry->d_name);
  }
  for (const std::string& name : old) ::unlinkat(folder, name.c_str(), 0);
  ::closedir(names);
}

// Whether this process is the first of its tree to leave the mark; true where none can be left.
bool LeaveMark(const std::string& name) {
  const UniqueFd folder = OpenMarks();
  if (!folder.valid()) return true;
  RemoveOldMarks(folder.get());
  const UniqueFd mark = AboveStandard(UniqueFd(::openat(
      folder.get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)));
  return mark.valid() || errno != EEXIST;
}

}  // namespace

std::string NothingReported() {
  uint64_t word = 0;
  // Where there is nothing random, marks of different trees may be the same.
  if (::getrandom(&word, sizeof word, GRND_NONBLOCK) != sizeof word) word = ::getpid();
  return fmt::format("{}{:016x}", std::string(kLetters.size(), '-'), word);
}

void NoteStandardStreams() {
  for (const int descriptor : {STDOUT_FILENO, STDERR_FILENO}) {
    struct stat info {};
    const bool is_open = ::fstat(descriptor, &info) == 0;
    // One that is closed stays so: what is opened there later is the program's own.
    at_start[static_cast<size_t>(descriptor)] = {is_open ? info.st_dev : 0,
                                                 is_open ? info.st_ino : 0, true};
  }
  if (std::getenv(kReportedVariable) != nullptr || __libc_single_threaded == 0) return;
  (void)::setenv(kReportedVariable, NothingReported().c_str(), 1);
}

bool IsAsAtStart(int descriptor) {
  const Identity& before = at_start[static_cast<size_t>(descriptor)];
  if (!before.is_noted) return true;
  struct stat info {};
  return ::fstat(descriptor, &info) == 0 && before.inode != 0 && info.st_dev == before.device &&
         info.st_ino == before.inode;
}

void WriteToHost(int descriptor, std::string_view text) {
  if (!IsAsAtStart(descriptor)) return;
  const SignalHeld no_reader(SIGPIPE);
  [[maybe_unused]] const ssize_t written = ::write(descriptor, text.data(), text.size());
}

bool BeginComplaint(Complaint complaint) {
  const auto at = static_cast<size_t>(complaint);
  if (has_reported[at].exchange(true)) return false;
  char* reported = ReportedInEnvironment();
  if (reported == nullptr) return true;
  if (std::atomic_ref<char>(reported[at]).exchange(kLetters[at]) != '-') return false;
  return LeaveMark(fmt::format("{}-{}", reported + kLetters.size(), kLetters[at]));
}

}  // namespace attune
