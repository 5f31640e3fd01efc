#include "apps/attune/session/lease_owner.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "attune/base/file.h"
#include "attune/base/user_at_host.h"

namespace attune {
namespace {

// Process numbers mean something within one namespace alone, of which a host may have several; the
// first one is called the same on every machine, and machines may have the same name, too, so what
// tells this run of this machine from all others belongs to it.
std::string Namespace() {
  constexpr size_t kOfBoot = 8;
  std::error_code error;
  const std::string name = std::filesystem::read_symlink("/proc/self/ns/pid", error).string();
  const std::string boot = ReadFile("/proc/sys/kernel/random/boot_id").value_or("");
  return fmt::format("{}.{}", error ? "pid:[?]" : name, boot.substr(0, kOfBoot));
}

// True if the process has ended but was not reaped yet. Its number stays taken in a container
// without a process that reaps.
bool HasEnded(pid_t process) {
  const auto stat = ReadFile(fmt::format("/proc/{}/stat", process));
  // "32091 (attune) Z ...": behind the name, which may have parentheses of its own.
  const size_t name_end = stat.ok() ? stat->rfind(") ") : std::string::npos;
  return name_end != std::string::npos && (*stat)[name_end + 2] == 'Z';
}

}  // namespace

std::string LeaseOwner() { return fmt::format("{}:{}:{}", UserAtHost(), Namespace(), ::getpid()); }

bool IsGone(const std::string& owner) {
  const std::string here = fmt::format("{}:{}:", UserAtHost(), Namespace());
  if (!owner.starts_with(here)) return false;
  pid_t process = 0;
  const char* const end = owner.data() + owner.size();
  const auto [rest, error] = std::from_chars(owner.data() + here.size(), end, process);
  if (error != std::errc() || rest != end || process <= 0) return false;
  return ::kill(process, 0) == 0 ? HasEnded(process) : errno == ESRCH;
}

}  // namespace attune
