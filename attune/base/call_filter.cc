#include "attune/base/call_filter.h"

#include <fcntl.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace attune {
namespace {

// Whether a filter is there while this library is loaded. Asks a file: whoever loads libraries may
// read files, but may be forbidden to call prctl. True if the file does not tell.
bool HadFilter() {
  const int kept = errno;
  constexpr size_t kMostStatusBytes = 4096;
  char text[kMostStatusBytes] = {};
  const int file = ::open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  const ssize_t size = file < 0 ? -1 : ::read(file, text, sizeof text - 1);
  if (file >= 0) ::close(file);
  errno = kept;
  constexpr const char* kField = "\nSeccomp:\t";
  const char* field = size <= 0 ? nullptr : std::strstr(text, kField);
  return field == nullptr || field[std::strlen(kField)] != '0';
}

const bool had_filter = HadFilter();

}  // namespace

bool HasNewCallFilter() {
  if (had_filter) return false;
  const int kept = errno;
  const bool has = ::prctl(PR_GET_SECCOMP) == SECCOMP_MODE_FILTER;
  errno = kept;
  return has;
}

}  // namespace attune
