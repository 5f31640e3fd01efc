#include "attune/base/user_at_host.h"

#include <pwd.h>
#include <unistd.h>

#include <array>

namespace attune {

std::string UserAtHost() {
  char host[256] = "unknown";
  ::gethostname(host, sizeof host - 1);
  // Threads of one process may ask at the same time, so not getpwuid().
  passwd entry{};
  passwd* user = nullptr;
  std::array<char, 4096> names{};
  ::getpwuid_r(::getuid(), &entry, names.data(), names.size(), &user);
  const std::string name = user != nullptr ? user->pw_name : std::to_string(::getuid());
  return name + "@" + host;
}

}  // namespace attune
