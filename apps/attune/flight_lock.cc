#include "apps/attune/flight_lock.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

namespace attune {

Result<FlightLock> FlightLock::Acquire(const std::string& database, const Problem& problem) {
  const std::string path = database + ".flights";
  UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!file.valid()) {
    return Unavailable(
        fmt::format("Cannot open the lock file '{}': {}.", path, std::strerror(errno)));
  }
  struct flock byte {};
  byte.l_type = F_WRLCK;
  byte.l_whence = SEEK_SET;
  byte.l_start = static_cast<off_t>(KeyOf(problem).low >> 2);
  byte.l_len = 1;
  while (::fcntl(file.get(), F_OFD_SETLKW, &byte) != 0) {
    if (errno == EINTR) continue;
    return Unavailable(fmt::format("Cannot lock '{}': {}.", path, std::strerror(errno)));
  }
  return FlightLock(std::move(file));
}

}  // namespace attune
