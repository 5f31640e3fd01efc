#include "storage/sql/alive_mark.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include <fmt/format.h>
#include "attune/base/open_file.h"

namespace attune::sql {
namespace {

constexpr mode_t kReadByAll = 0644;

std::string PathOf(const std::string& database) { return database + "-turns"; }

struct flock LockOf(short type, int64_t byte) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = byte;
  lock.l_len = 1;
  return lock;
}

}  // namespace

Result<AliveMark> AliveMark::Set(const std::string& database, int64_t byte) {
  const std::string path = PathOf(database);
  // A shared lock needs no right to write, so that the file may be another user's.
  UniqueFd file = OpenFile(path, O_RDONLY | O_CREAT | O_NOFOLLOW, kReadByAll);
  struct flock lock = LockOf(F_RDLCK, byte);
  if (file.valid() && ::fcntl(file.get(), F_OFD_SETLK, &lock) == 0) {
    return AliveMark(std::move(file));
  }
  return Unavailable(fmt::format(
      "Cannot {} '{}', which tells others that this is being written: {}. Correct its permissions, "
      "or name another database.",
      file.valid() ? "lock" : "open", path, std::strerror(errno)));
}

bool AliveMark::IsSet(const std::string& database, int64_t byte) {
  const UniqueFd file = OpenFile(PathOf(database), O_RDONLY | O_NOFOLLOW);
  if (!file.valid()) return errno != ENOENT;
  struct flock lock = LockOf(F_WRLCK, byte);
  return ::fcntl(file.get(), F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

Result<AliveMark> AliveMark::Set(std::unique_ptr<Connection> connection, int64_t byte) {
  const std::string sql = fmt::format(fmt::runtime(connection->engine().texts().mark), byte);
  ATTUNE_ASSIGN_OR_RETURN(const auto marked, connection->Texts(sql));
  if (marked != std::vector<std::string>{"1"}) {
    return Unavailable(fmt::format(
        "Database '{}' gave no lock for what is being written. Try again.", connection->name()));
  }
  AliveMark mark;
  mark.connection_ = std::move(connection);
  return mark;
}

Result<bool> AliveMark::IsSet(Connection& connection, int64_t byte) {
  const std::string sql = fmt::format(fmt::runtime(connection.engine().texts().is_marked), byte);
  ATTUNE_ASSIGN_OR_RETURN(const auto is_marked, connection.Texts(sql));
  return is_marked != std::vector<std::string>{"0"};
}

}  // namespace attune::sql
