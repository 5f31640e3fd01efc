#include "attune/base/host_messages.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/single_threaded.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include "attune/base/file_size_signal.h"
#include "attune/base/folder_names.h"
#include "attune/base/open_file.h"
#include "attune/base/unique_fd.h"

namespace attune {
namespace {

constexpr std::string_view kLetters = "drwpi";  // One per Complaint.
static_assert(sizeof kNoComplaints == kLetters.size() + 1);
constexpr size_t kWordDigits = 16;
constexpr time_t kMarkLifeS = 24 * 3600;

struct Identity {
  dev_t device = 0;
  ino_t inode = 0;
  bool is_noted = false;
};

// Global because the state belongs to the process and exists before any caller.
std::array<Identity, 3> at_start;
std::array<std::atomic<bool>, kLetters.size()> has_reported = {};

// The value inside the environment block, because setenv() would move strings that other threads
// read.
char* ReportedInEnvironment() {
  char* reported = std::getenv(kReportedVariable);
  if (reported == nullptr) return nullptr;
  const std::string_view value = reported;
  const bool is_ours =
      value.size() == kLetters.size() + kWordDigits &&
      value.substr(kLetters.size()).find_first_not_of("0123456789abcdef") == value.npos;
  return is_ours ? reported : nullptr;
}

// Opens this user's folder for marks in `parent`. Invalid if other users can access the folder.
UniqueFd OpenMarks(const char* parent) {
  constexpr mode_t kOthers = S_IRWXG | S_IRWXO;
  char path[64];
  std::snprintf(path, sizeof path, "%s/attune-reported-%u", parent, ::geteuid());
  if (::mkdir(path, S_IRWXU) != 0 && errno != EEXIST) return UniqueFd();
  UniqueFd folder =
      AboveStandard(UniqueFd(::open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)));
  struct stat info {};
  const bool is_ours = folder.valid() && ::fstat(folder.get(), &info) == 0 &&
                       info.st_uid == ::geteuid() && (info.st_mode & kOthers) == 0;
  return is_ours ? std::move(folder) : UniqueFd();
}

void RemoveOldMarks(int folder) {
  const time_t now = ::time(nullptr);
  ForEachName(folder, [&](std::string_view name) {
    struct stat info {};
    const bool is_old = ::fstatat(folder, name.data(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
                        S_ISREG(info.st_mode) && info.st_mtime + kMarkLifeS < now;
    if (is_old) ::unlinkat(folder, name.data(), 0);
    return true;
  });
}

// Returns true if this process is the first of its tree to leave the mark, or if no folder can hold
// a mark. Allocates no memory, because a process may complain when it ends inside malloc().
bool LeaveMark(const char* name) {
  for (const char* parent : {"/tmp", "/dev/shm", "/var/tmp"}) {
    const UniqueFd folder = OpenMarks(parent);
    if (!folder.valid()) continue;
    RemoveOldMarks(folder.get());
    const UniqueFd mark = AboveStandard(UniqueFd(
        ::openat(folder.get(), name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)));
    if (mark.valid()) return true;
    if (errno == EEXIST) return false;
  }
  return true;
}

// True if `descriptor` takes PIPE_BUF bytes within kPatienceMs.
bool IsReadyToTake(int descriptor) {
  constexpr int kPatienceMs = 5;
  pollfd asked = {descriptor, POLLOUT, 0};
  return ::poll(&asked, 1, kPatienceMs) == 1 && (asked.revents & POLLOUT) != 0;
}

}  // namespace

std::string NothingReported() {
  uint64_t word = 0;
  // Without random numbers, marks of different trees may collide.
  if (::getrandom(&word, sizeof word, GRND_NONBLOCK) != sizeof word) word = ::getpid();
  return fmt::format("{}{:016x}", kNoComplaints, word);
}

void NoteStandardStreams() {
  for (const int descriptor : {STDOUT_FILENO, STDERR_FILENO}) {
    struct stat info {};
    const bool is_open = ::fstat(descriptor, &info) == 0;
    // A stream that is closed now stays off limits: a file opened there later is the program's own.
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
  struct stat info {};
  if (::fstat(descriptor, &info) != 0) return;
  // A file takes everything in one write, which keeps lines of several processes whole.
  const size_t part = S_ISREG(info.st_mode) ? text.size() : PIPE_BUF;
  while (!text.empty()) {
    if (!IsReadyToTake(descriptor)) return;
    const std::string_view now = text.substr(0, part);
    const ssize_t written = S_ISSOCK(info.st_mode) ? ::send(descriptor, now.data(), now.size(),
                                                            MSG_DONTWAIT | MSG_NOSIGNAL)
                                                   : ::write(descriptor, now.data(), now.size());
    if (written <= 0) return;
    text.remove_prefix(static_cast<size_t>(written));
  }
}

bool BeginComplaint(Complaint complaint) {
  const auto at = static_cast<size_t>(complaint);
  if (has_reported[at].exchange(true)) return false;
  char* reported = ReportedInEnvironment();
  if (reported == nullptr) return true;
  if (std::atomic_ref<char>(reported[at]).exchange(kLetters[at]) != '-') return false;
  char name[64];
  std::snprintf(name, sizeof name, "%s-%c", reported + kLetters.size(), kLetters[at]);
  return LeaveMark(name);
}

}  // namespace attune
