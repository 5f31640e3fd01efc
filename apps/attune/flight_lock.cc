#include "apps/attune/flight_lock.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "storage/sql/sql_store.h"

namespace attune {
namespace {

constexpr int kRestMs = 100;

struct LockFile {
  std::string path;
  UniqueFd file;
};

Status LockFailure(const std::string& path) {
  return Unavailable(fmt::format("Cannot lock '{}': {}.", path, std::strerror(errno)));
}

// Write permission on the database is enough to lock.
Result<LockFile> OpenLockFile(const std::string& database) {
  ATTUNE_ASSIGN_OR_RETURN(const std::filesystem::path path, SqlStorePath(database));
  struct stat info {};
  const mode_t mode = ::stat(path.c_str(), &info) == 0 ? info.st_mode & 0666 : 0644;
  LockFile lock;
  lock.path = path.string() + ".flights";
  lock.file = UniqueFd(::open(lock.path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, mode));
  if (lock.file.valid()) return lock;
  return Unavailable(
      fmt::format("Cannot open the lock file '{}': {}.", lock.path, std::strerror(errno)));
}

struct flock ByteOf(const Problem& problem) {
  struct flock byte {};
  byte.l_type = F_WRLCK;
  byte.l_whence = SEEK_SET;
  byte.l_start = static_cast<off_t>(KeyOf(problem).low >> 2);
  byte.l_len = 1;
  return byte;
}

class HeldFlight final : public ProblemTurns::Turn {
 public:
  explicit HeldFlight(FlightLock lock) : lock_(std::move(lock)) {}

 private:
  FlightLock lock_;
};

}  // namespace

Result<FlightLock> FlightLock::Acquire(const std::string& database, const Problem& problem) {
  ATTUNE_ASSIGN_OR_RETURN(LockFile lock, OpenLockFile(database));
  struct flock byte = ByteOf(problem);
  while (::fcntl(lock.file.get(), F_OFD_SETLKW, &byte) != 0) {
    if (errno != EINTR) return LockFailure(lock.path);
  }
  return FlightLock(std::move(lock.file));
}

Result<std::optional<FlightLock>> FlightLock::TryAcquire(const std::string& database,
                                                         const Problem& problem) {
  ATTUNE_ASSIGN_OR_RETURN(LockFile lock, OpenLockFile(database));
  struct flock byte = ByteOf(problem);
  if (::fcntl(lock.file.get(), F_OFD_SETLK, &byte) == 0) {
    return std::optional<FlightLock>(FlightLock(std::move(lock.file)));
  }
  if (errno == EAGAIN || errno == EACCES) return std::optional<FlightLock>();
  return LockFailure(lock.path);
}

Result<std::unique_ptr<ProblemTurns::Turn>> FlightTurns::TryTake(const Problem& problem) {
  ATTUNE_ASSIGN_OR_RETURN(auto lock, FlightLock::TryAcquire(database_, problem));
  if (!lock.has_value()) return std::unique_ptr<Turn>();
  return std::unique_ptr<Turn>(std::make_unique<HeldFlight>(std::move(*lock)));
}

void FlightTurns::Rest() {
  if (!has_said_) {
    err_.Print("attune tune: Another process tunes what is left; waiting for it.\n");
    err_.Flush();
    has_said_ = true;
  }
  ::poll(nullptr, 0, kRestMs);
}

}  // namespace attune
