#include "attune/record/record.h"

#include <sys/random.h>

#include <cassert>
#include <cerrno>

#include "attune/base/fingerprint.h"

namespace attune {

namespace {

std::string RandomId() {
  Fingerprint id;
  ssize_t got = 0;
  // Up to 256 bytes come at once or, before the kernel's pool is ready, after a wait that a signal
  // may interrupt.
  do {
    got = ::getrandom(&id, sizeof(id), 0);
  } while (got < 0 && errno == EINTR);
  assert(got == sizeof(id));
  return id.ToHex();
}

}  // namespace

std::string NewSetId() { return RandomId(); }

std::string NewDatabaseId() { return RandomId(); }

}  // namespace attune
