#include "storage/sql/guest_vfs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <string>

#include "attune/base/open_file.h"
#include "storage/sql/soci_headers.h"

namespace attune::sql {
namespace {

using sqlite_api::sqlite3_file;
using sqlite_api::sqlite3_int64;
using sqlite_api::sqlite3_io_methods;
using sqlite_api::sqlite3_vfs;

// Offsets of the locks of SQLite (https://www.sqlite.org/walformat.html, "WAL-Index Locks"; os.h).
constexpr off_t kPendingByte = 0x40000000;
constexpr off_t kSharedFirst = kPendingByte + 2;
constexpr off_t kSharedBytes = 510;
// Locks in "-shm". A process that moves the log into the database needs WAL_READ_LOCK(0)
// exclusively. One that restarts the log needs all the others, of which readers take the first ones
// first. While both of these are held, even shared, committed data stays where it is, and commits
// append.
constexpr off_t kFirstReadLock = 123;
constexpr off_t kLastReadLock = 127;
constexpr int64_t kLogHeaderBytes = 32;
constexpr int64_t kFrameHeaderBytes = 24;

// The header of "-shm", twice at its beginning (walformat.html, "The WAL-Index Header").
struct LogState {
  uint32_t version;
  uint32_t unused;
  uint32_t change;
  uint8_t is_initialised;
  uint8_t is_big_endian;
  uint16_t page_bytes;  // 1 for 65536.
  uint32_t frames;
  uint32_t pages;
  uint32_t frame_check[2];
  char salts[8];
  uint32_t check[2];

  bool IsWhole() const {
    uint32_t words[10];
    std::memcpy(words, this, sizeof words);
    uint32_t first = 0;
    uint32_t second = 0;
    for (int i = 0; i < 10; i += 2) {
      first += words[i] + second;
      second += words[i + 1] + first;
    }
    return is_initialised != 0 && check[0] == first && check[1] == second;
  }
  int64_t log_bytes() const {
    const int64_t page = (page_bytes & 0xfe00) + ((page_bytes & 1) << 16);
    return frames == 0 ? 0 : kLogHeaderBytes + frames * (page + kFrameHeaderBytes);
  }
};
static_assert(sizeof(LogState) == 48);

bool SetLock(int fd, short type, off_t start, off_t length) {
  struct flock range {};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  range.l_start = start;
  range.l_len = length;
  return ::fcntl(fd, F_OFD_SETLK, &range) == 0;
}

bool Exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

// Does not wait if a pipe has replaced the file.
UniqueFd OpenToRead(const std::string& path) { return OpenFile(path, O_RDONLY | O_NONBLOCK); }

// Returns the length of the committed part of the log `path`, with its database locked. Returns
// nothing if all of the log counts, because no live process has written its state or can write it
// without the locks.
std::optional<int64_t> CommittedBytes(int log, const UniqueFd& state) {
  LogState copies[2];
  char header[kLogHeaderBytes];
  // A writer changes one copy after the other.
  constexpr int kTries = 100;
  for (int i = 0; i < kTries; ++i) {
    if (!state.valid() || ::pread(state.get(), copies, sizeof copies, 0) != sizeof copies ||
        copies[0].is_initialised == 0) {
      return std::nullopt;
    }
    if (std::memcmp(&copies[0], &copies[1], sizeof copies[0]) == 0 && copies[0].IsWhole()) break;
    if (i + 1 == kTries) return std::nullopt;
    ::usleep(100);
  }
  constexpr off_t kSaltsOffset = 16;
  const bool is_of_this_log =
      ::pread(log, header, sizeof header, 0) == sizeof header &&
      std::memcmp(header + kSaltsOffset, copies[0].salts, sizeof copies[0].salts) == 0;
  // The state belongs to another log: this log was moved into the database and will be overwritten.
  return is_of_this_log ? copies[0].log_bytes() : 0;
}

// An open database or its log, used by one connection on one thread.
class GuestFile {
 public:
  GuestFile(std::string path, UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}

  // For a log, which may be missing. Returns false if the program has taken a descriptor meanwhile.
  // REQUIRES: its database is locked.
  bool FindCommitted() {
    if (!fd_.valid()) return true;
    const UniqueFd state = OpenToRead(path_.substr(0, path_.size() - std::strlen("-wal")) + "-shm");
    most_bytes_ = CommittedBytes(fd_.get(), state);
    return !IsTaken() && (!state.valid() || state.is_ours());
  }

  int Read(void* to, int size, sqlite3_int64 offset) {
    auto* bytes = static_cast<char*>(to);
    const int64_t end = std::min<int64_t>(offset + size, most_bytes_.value_or(INT64_MAX));
    int done = 0;
    while (offset + done < end && fd_.is_ours()) {
      const ssize_t got =
          ::pread(fd_.get(), bytes + done, static_cast<size_t>(end - offset - done), offset + done);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return SQLITE_IOERR_READ;
      if (got == 0) break;
      done += static_cast<int>(got);
    }
    // The data may come from a file of the program. Do not report a short database.
    if (IsTaken()) return SQLITE_IOERR_READ;
    // Without the file of reader locks, no process writes until some process creates that file.
    if (lacks_state_ && Exists(path_ + "-shm")) return SQLITE_IOERR_READ;
    if (done == size) return SQLITE_OK;
    std::memset(bytes + done, 0, static_cast<size_t>(size - done));
    return SQLITE_IOERR_SHORT_READ;
  }

  int Size(sqlite3_int64* size) const {
    struct stat info {};
    if (fd_.valid() && (::fstat(fd_.get(), &info) != 0 || IsTaken())) return SQLITE_IOERR_FSTAT;
    *size = std::min<int64_t>(info.st_size, most_bytes_.value_or(INT64_MAX));
    return SQLITE_OK;
  }

  // SQLite asks for an exclusive lock, to use its index of the log alone. It only needs the data
  // that it has read to stay in place.
  int Lock() {
    if (is_locked_) return SQLITE_OK;
    if (!fd_.is_ours()) return SQLITE_IOERR_LOCK;
    is_locked_ = SetLock(fd_.get(), F_RDLCK, kPendingByte, 1) &&
                 SetLock(fd_.get(), F_RDLCK, kSharedFirst, kSharedBytes);
    const int reason = errno;
    (void)SetLock(fd_.get(), F_UNLCK, kPendingByte, 1);
    if (!is_locked_) return reason == EAGAIN || reason == EACCES ? SQLITE_BUSY : SQLITE_IOERR_LOCK;
    // From here on, the process that closes the database last does not remove the files beside it.
    const int locked = LockReaders();
    if (locked != SQLITE_OK) Unlock();
    return locked;
  }

  void Unlock() {
    state_.Reset();
    lacks_state_ = false;
    if (is_locked_ && fd_.is_ours()) {
      (void)SetLock(fd_.get(), F_UNLCK, kSharedFirst, kSharedBytes);
    }
    is_locked_ = false;
  }

 private:
  // Returns true if the program has closed the descriptor and may have reused its number.
  bool IsTaken() const { return fd_.valid() && !fd_.is_ours(); }

  int LockReaders() {
    UniqueFd state = OpenToRead(path_ + "-shm");
    if (!state.valid()) {
      lacks_state_ = errno == ENOENT;
      return lacks_state_ ? SQLITE_OK : SQLITE_CANTOPEN;
    }
    state_ = std::move(state);
    if (SetLock(state_.get(), F_RDLCK, kFirstReadLock, 1) &&
        SetLock(state_.get(), F_RDLCK, kLastReadLock, 1)) {
      return SQLITE_OK;
    }
    return errno == EAGAIN || errno == EACCES ? SQLITE_BUSY : SQLITE_IOERR_LOCK;
  }

  const std::string path_;
  UniqueFd fd_;  // Invalid for a missing log.
  // For a database: the file with the locks of readers.
  UniqueFd state_;
  bool is_locked_ = false;
  bool lacks_state_ = false;
  // For a log: bytes after this offset are not part of it.
  std::optional<int64_t> most_bytes_;
};

// The layout that SQLite expects.
struct OpenGuestFile {
  sqlite3_file base;
  GuestFile* file;  // Owned.
};

GuestFile& Of(sqlite3_file* file) { return *reinterpret_cast<OpenGuestFile*>(file)->file; }

int Close(sqlite3_file* file) {
  delete reinterpret_cast<OpenGuestFile*>(file)->file;
  return SQLITE_OK;
}
int Read(sqlite3_file* file, void* to, int size, sqlite3_int64 offset) {
  return Of(file).Read(to, size, offset);
}
int Write(sqlite3_file*, const void*, int, sqlite3_int64) { return SQLITE_READONLY; }
int Truncate(sqlite3_file*, sqlite3_int64) { return SQLITE_READONLY; }
int Sync(sqlite3_file*, int) { return SQLITE_OK; }
int FileSize(sqlite3_file* file, sqlite3_int64* size) { return Of(file).Size(size); }
int Lock(sqlite3_file* file, int) { return Of(file).Lock(); }
int Unlock(sqlite3_file* file, int level) {
  if (level == SQLITE_LOCK_NONE) Of(file).Unlock();
  return SQLITE_OK;
}
int CheckReservedLock(sqlite3_file*, int* is_reserved) {
  *is_reserved = 0;
  return SQLITE_OK;
}
int FileControl(sqlite3_file*, int, void*) { return SQLITE_NOTFOUND; }
int SectorSize(sqlite3_file*) { return 4096; }
int DeviceCharacteristics(sqlite3_file*) { return 0; }

constexpr sqlite3_io_methods kMethods = {
    .iVersion = 1,  // Without shared memory and without mappings.
    .xClose = Close,
    .xRead = Read,
    .xWrite = Write,
    .xTruncate = Truncate,
    .xSync = Sync,
    .xFileSize = FileSize,
    .xLock = Lock,
    .xUnlock = Unlock,
    .xCheckReservedLock = CheckReservedLock,
    .xFileControl = FileControl,
    .xSectorSize = SectorSize,
    .xDeviceCharacteristics = DeviceCharacteristics,
    .xShmMap = nullptr,
    .xShmLock = nullptr,
    .xShmBarrier = nullptr,
    .xShmUnmap = nullptr,
    .xFetch = nullptr,
    .xUnfetch = nullptr,
};

int Open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out_flags) try {
  file->pMethods = nullptr;
  const bool is_log = (flags & SQLITE_OPEN_WAL) != 0;
  constexpr int kRead = SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL;
  if (name == nullptr || (flags & kRead) == 0) return SQLITE_CANTOPEN;
  UniqueFd fd = OpenToRead(name);
  if (!fd.valid() && !(is_log && errno == ENOENT)) return SQLITE_CANTOPEN;
  auto opened = std::make_unique<GuestFile>(name, std::move(fd));
  if (is_log && !opened->FindCommitted()) return SQLITE_IOERR_READ;
  reinterpret_cast<OpenGuestFile*>(file)->file = opened.release();
  file->pMethods = &kMethods;
  if (out_flags != nullptr) *out_flags = flags | SQLITE_OPEN_READONLY;
  return SQLITE_OK;
} catch (const std::bad_alloc&) {
  return SQLITE_NOMEM;
}

int Delete(sqlite3_vfs*, const char*, int) { return SQLITE_IOERR_DELETE; }

int Access(sqlite3_vfs*, const char* name, int, int* is_there) {
  *is_there = ::access(name, F_OK) == 0 ? 1 : 0;
  return SQLITE_OK;
}

// The names are absolute already.
int FullPathname(sqlite3_vfs*, const char* name, int size, char* to) {
  const size_t length = std::strlen(name);
  if (length >= static_cast<size_t>(size)) return SQLITE_CANTOPEN;
  std::memcpy(to, name, length + 1);
  return SQLITE_OK;
}

sqlite3_vfs* Usual() { return sqlite_api::sqlite3_vfs_find(nullptr); }
int Randomness(sqlite3_vfs*, int size, char* to) { return Usual()->xRandomness(Usual(), size, to); }
int Sleep(sqlite3_vfs*, int us) { return Usual()->xSleep(Usual(), us); }
int CurrentTime(sqlite3_vfs*, double* time) { return Usual()->xCurrentTime(Usual(), time); }
int LastError(sqlite3_vfs*, int, char*) { return errno; }

// Undone when this library is unloaded, because SQLite outlives it.
class Registration {
 public:
  Registration() {
    constexpr int kLongestPath = 4096;
    vfs_.iVersion = 1;
    vfs_.szOsFile = sizeof(OpenGuestFile);
    vfs_.mxPathname = kLongestPath;
    vfs_.zName = kGuestVfs;
    vfs_.xOpen = Open;
    vfs_.xDelete = Delete;
    vfs_.xAccess = Access;
    vfs_.xFullPathname = FullPathname;
    vfs_.xRandomness = Randomness;
    vfs_.xSleep = Sleep;
    vfs_.xCurrentTime = CurrentTime;
    vfs_.xGetLastError = LastError;
    (void)sqlite_api::sqlite3_vfs_register(&vfs_, 0);
  }
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;
  ~Registration() { (void)sqlite_api::sqlite3_vfs_unregister(&vfs_); }

 private:
  sqlite3_vfs vfs_{};
};

// Counts are per process, as locks are. A process after fork() has none of the connections of its
// parent, so the upper half of a count holds the number of its process.
std::atomic<uint64_t> own_connections{0};
std::atomic<uint64_t> guest_connections{0};

uint64_t OfThisProcess() { return static_cast<uint64_t>(::getpid()) << 32; }

uint32_t CountOf(const std::atomic<uint64_t>& connections) {
  const uint64_t value = connections.load();
  return value >> 32 == OfThisProcess() >> 32 ? static_cast<uint32_t>(value) : 0;
}

void Change(std::atomic<uint64_t>& connections, int by) {
  uint64_t old = connections.load();
  uint64_t changed = 0;
  do {
    const bool is_ours = old >> 32 == OfThisProcess() >> 32;
    const int64_t count = (is_ours ? static_cast<uint32_t>(old) : 0) + by;
    changed = OfThisProcess() | static_cast<uint32_t>(std::max<int64_t>(count, 0));
  } while (!connections.compare_exchange_weak(old, changed));
}

bool Admit() {
  Change(guest_connections, 1);
  if (CountOf(own_connections) == 0) return true;
  Change(guest_connections, -1);
  return false;
}

}  // namespace

void RegisterGuestVfs() { static const Registration registration; }

OwnConnection::OwnConnection() {
  // A guest that reads longer has found a large database. Its locks then matter less than the
  // connection that waits here.
  constexpr int kPolls = 5000;
  constexpr useconds_t kPollUs = 1000;
  Change(own_connections, 1);
  for (int i = 0; i < kPolls && CountOf(guest_connections) > 0; ++i) ::usleep(kPollUs);
}

OwnConnection::~OwnConnection() { Change(own_connections, -1); }

GuestConnection::GuestConnection() : is_admitted_(Admit()) {}

GuestConnection::~GuestConnection() {
  if (is_admitted_) Change(guest_connections, -1);
}

}  // namespace attune::sql
