#include "tests/servers/server_process.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/magic.h>
#include <netinet/in.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <random>

#include <fmt/format.h>

#include "attune/base/descendants.h"
#include "attune/base/file.h"
#include "attune/base/program_run.h"
#include "attune/base/unique_fd.h"

namespace attune {
namespace {

struct Person {
  uid_t user = 0;
  gid_t group = 0;
};

// The user that runs servers: `nobody`, if this is root.
std::optional<Person> Unprivileged() {
  if (::geteuid() != 0) return std::nullopt;
  const passwd* nobody = ::getpwnam("nobody");
  return nobody == nullptr ? Person{65534, 65534} : Person{nobody->pw_uid, nobody->pw_gid};
}

sockaddr_in AddressOf(const std::string& address, uint16_t port) {
  sockaddr_in found{};
  found.sin_family = AF_INET;
  found.sin_port = htons(port);
  ::inet_pton(AF_INET, address.c_str(), &found.sin_addr);
  return found;
}

// In memory, where that has room for several servers; a disk takes seconds to make MariaDB's
// initial files.
std::filesystem::path FolderForServers() {
  constexpr const char* kMemory = "/dev/shm";
  constexpr uint64_t kRoomBytes = uint64_t{4} << 30;
  struct statfs memory {};
  const bool has_room = std::getenv("TMPDIR") == nullptr && ::statfs(kMemory, &memory) == 0 &&
                        memory.f_type == TMPFS_MAGIC && ::access(kMemory, W_OK) == 0 &&
                        memory.f_bavail * static_cast<uint64_t>(memory.f_bsize) > kRoomBytes;
  return has_room ? kMemory : std::filesystem::temp_directory_path();
}

}  // namespace

std::string FindServerProgram(const std::string& name) {
  if (name == "postgres" || name == "initdb" || name == "psql") {
    std::error_code none;
    std::filesystem::path newest;
    for (const auto& version : std::filesystem::directory_iterator("/usr/lib/postgresql", none)) {
      const std::filesystem::path program = version.path() / "bin" / name;
      if (std::filesystem::exists(program, none) && program > newest) newest = program;
    }
    if (!newest.empty()) return newest;
  }
  for (const char* folder : {"/usr/sbin", "/usr/local/sbin"}) {
    std::error_code none;
    if (std::filesystem::exists(std::filesystem::path(folder) / name, none)) {
      return std::filesystem::path(folder) / name;
    }
  }
  return FindProgram(name);
}

Result<uint16_t> FreePort(const std::string& at) {
  // Below those that the system gives to outgoing connections, one of which would otherwise have it
  // now and then before the server has, or while the server is started again.
  constexpr int kFirst = 15000;
  constexpr int kLast = 32000;
  constexpr int kTries = 100;
  std::random_device random;
  for (int i = 0; i < kTries; ++i) {
    const auto port =
        static_cast<uint16_t>(std::uniform_int_distribution<int>(kFirst, kLast)(random));
    const UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_in address = AddressOf(at, port);
    if (socket.valid() &&
        ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
      return port;
    }
  }
  return Unavailable(fmt::format("No port of {} from {} to {} is to be had: {}.", at, kFirst, kLast,
                                 std::strerror(errno)));
}

Result<std::filesystem::path> NewServerFolder() {
  std::string name = FolderForServers() / "attune-server-XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) {
    return Unavailable(fmt::format("Cannot make a folder '{}': {}.", name, std::strerror(errno)));
  }
  ATTUNE_RETURN_IF_ERROR(GiveToServer(name));
  return std::filesystem::path(name);
}

Status GiveToServer(const std::filesystem::path& path) {
  const auto person = Unprivileged();
  if (!person.has_value() || ::chown(path.c_str(), person->user, person->group) == 0) {
    return Status::Ok();
  }
  return Unavailable(
      fmt::format("Cannot give '{}' away: {}.", path.string(), std::strerror(errno)));
}

pid_t SpawnServer(const std::vector<std::string>& words, const std::filesystem::path& folder) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const std::string log = folder / "log";
  const std::optional<Person> person = Unprivileged();
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  // Only calls that are safe between fork and exec.
  ::setpgid(0, 0);
  const int output = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  const int input = ::open("/dev/null", O_RDONLY);
  ::dup2(input, 0);
  ::dup2(output, 1);
  ::dup2(output, 2);
  if (::chdir(folder.c_str()) != 0) ::_exit(126);
  if (person.has_value() && (::setgroups(0, nullptr) != 0 || ::setgid(person->group) != 0 ||
                             ::setuid(person->user) != 0)) {
    ::_exit(126);
  }
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(126);
  ::execv(arguments.front(), arguments.data());
  ::_exit(127);
}

int RunToItsEnd(const std::vector<std::string>& words, const std::filesystem::path& folder) {
  const pid_t pid = SpawnServer(words, folder);
  int status = -1;
  if (pid < 0 || ::waitpid(pid, &status, 0) != pid) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool Answers(uint16_t port, const std::string& at) {
  const UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = AddressOf(at, port);
  return ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

void KillServer(pid_t& pid) {
  if (pid <= 0) return;
  // PostgreSQL's processes for connections are sessions of their own, and finish a statement.
  VisitDescendants(pid, [](pid_t child) { ::kill(child, SIGKILL); });
  ::kill(-pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  pid = -1;
}

std::string EndOfLog(const std::filesystem::path& folder) {
  constexpr size_t kShown = 4000;
  const auto text = ReadFile(folder / "log");
  if (!text.ok()) return text.error().message();
  return text->size() <= kShown ? *text : text->substr(text->size() - kShown);
}

}  // namespace attune
