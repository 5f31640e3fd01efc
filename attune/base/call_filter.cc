#include "attune/base/call_filter.h"

#include <linux/seccomp.h>
#include <sys/prctl.h>

#include <cerrno>

namespace attune {
namespace {

bool HasFilter() {
  const int kept = errno;
  const bool has = ::prctl(PR_GET_SECCOMP) == SECCOMP_MODE_FILTER;
  errno = kept;
  return has;
}

const bool had_filter = HasFilter();

}  // namespace

bool HasNewCallFilter() { return !had_filter && HasFilter(); }

}  // namespace attune
