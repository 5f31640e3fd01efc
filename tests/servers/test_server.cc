#include "tests/servers/test_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "attune/base/file.h"
#include "attune/base/program_run.h"
#include "attune/base/steady_time.h"
#include "attune/base/unique_fd.h"
#include "storage/sql/servers/server_url.h"
#include "storage/sql/servers/soci_server_headers.h"

namespace attune {
namespace {

constexpr int64_t kStartPatienceNs = 30'000'000'000;
constexpr int kPollMs = 20;

// Where Debian puts servers that are not for people's PATH.
std::string FindServerProgram(const std::string& name) {
  if (name == "postgres" || name == "initdb") {
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

struct ServerProgram {
  std::string_view name;
  std::string program;
  std::string package;
};

ServerProgram ProgramOf(ServerKind kind) {
  switch (kind) {
    case ServerKind::kPostgres:
      return {"PostgreSQL", "postgres", "postgresql"};
    case ServerKind::kMaria:
      return {"MariaDB", "mariadbd", "mariadb-server-core"};
  }
  return {};
}

// A port that nobody has now.
Result<uint16_t> FreePort() {
  const UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  if (!socket.valid() ||
      ::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    return Unavailable(fmt::format("No port of 127.0.0.1 is to be had: {}.", std::strerror(errno)));
  }
  return ntohs(address.sin_port);
}

struct Person {
  uid_t user = 0;
  gid_t group = 0;
};

// Whom servers run as: `nobody`, if this is root.
std::optional<Person> Unprivileged() {
  if (::geteuid() != 0) return std::nullopt;
  const passwd* nobody = ::getpwnam("nobody");
  return nobody == nullptr ? Person{65534, 65534} : Person{nobody->pw_uid, nobody->pw_gid};
}

// Starts `words` in `folder` with both outputs in `log` there. -1 if no process could be made.
pid_t Spawn(const std::vector<std::string>& words, const std::filesystem::path& folder) {
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

// The exit status of a program that ends by itself.
int RunToItsEnd(const std::vector<std::string>& words, const std::filesystem::path& folder) {
  const pid_t pid = Spawn(words, folder);
  int status = -1;
  if (pid < 0 || ::waitpid(pid, &status, 0) != pid) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool Answers(uint16_t port) {
  const UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return ::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
}

}  // namespace

Result<std::unique_ptr<TestServer>> TestServer::Start(ServerKind kind) {
  const ServerProgram needed = ProgramOf(kind);
  if (FindServerProgram(needed.program).empty()) {
    return NotFound(fmt::format("{} is not installed here (Debian's package {}).", needed.name,
                                needed.package));
  }
  std::unique_ptr<TestServer> server(new TestServer(kind));  // NOLINT: private.
  ATTUNE_RETURN_IF_ERROR(server->Prepare());
  ATTUNE_RETURN_IF_ERROR(server->Run());
  if (kind == ServerKind::kMaria) {
    ATTUNE_RETURN_IF_ERROR(server->Administer(fmt::format(
        "CREATE USER '{}'@'%' IDENTIFIED BY '{}'", kUser, "it\\'s \"pass\\\\word\" %41 & more")));
  }
  return server;
}

TestServer::~TestServer() {
  Kill();
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

void TestServer::Kill() {
  if (pid_ <= 0) return;
  ::kill(-pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

Status TestServer::Prepare() {
  std::string name = (std::filesystem::temp_directory_path() / "attune-server-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) {
    return Unavailable(fmt::format("Cannot make a folder '{}': {}.", name, std::strerror(errno)));
  }
  folder_ = name;
  ATTUNE_ASSIGN_OR_RETURN(port_, FreePort());
  ATTUNE_RETURN_IF_ERROR(WriteFileAtomically(folder_ / "password", kPassword));
  if (const auto person = Unprivileged(); person.has_value()) {
    for (const auto& path : {folder_, folder_ / "password"}) {
      if (::chown(path.c_str(), person->user, person->group) != 0) {
        return Unavailable(
            fmt::format("Cannot give '{}' away: {}.", path.string(), std::strerror(errno)));
      }
    }
  }
  std::vector<std::string> words;
  if (kind_ == ServerKind::kPostgres) {
    words = {FindServerProgram("initdb"),
             "-D",
             folder_ / "data",
             "-U",
             kUser,
             "-A",
             "scram-sha-256",
             "--pwfile",
             folder_ / "password",
             "-E",
             "UTF8",
             "--locale=C.UTF-8",
             "--no-sync"};
  } else {
    words = {FindProgram("mariadb-install-db"), "--no-defaults", "--skip-test-db",
             "--auth-root-authentication-method=normal",
             "--datadir=" + (folder_ / "data").string()};
  }
  if (RunToItsEnd(words, folder_) == 0) return Status::Ok();
  return Internal(fmt::format("'{}' failed: {}", words.front(), Log()));
}

std::vector<std::string> TestServer::Command() const {
  const std::string program = FindServerProgram(ProgramOf(kind_).program);
  const std::string data = folder_ / "data";
  const std::string port = fmt::format("{}", port_);
  switch (kind_) {
    case ServerKind::kPostgres:
      return {program,
              "-D",
              data,
              "-p",
              port,
              "-k",
              folder_,
              "-c",
              "listen_addresses=127.0.0.1",
              "-c",
              "fsync=off",
              "-c",
              "shared_buffers=64MB"};
    case ServerKind::kMaria:
      return {program, "--no-defaults", "--datadir=" + data, "--port=" + port,
              "--bind-address=127.0.0.1", "--skip-name-resolve",
              "--socket=" + (folder_ / "socket").string(),
              "--pid-file=" + (folder_ / "pid").string(), "--innodb-buffer-pool-size=64M",
              "--skip-log-bin",
              // Each table that is made would otherwise wait for the disk several times. What was
              // committed is with the system, so that a killed server still has it.
              "--debug-no-sync", "--innodb-flush-method=nosync",
              "--innodb-flush-log-at-trx-commit=2", "--sync-frm=OFF"};
  }
  return {};
}

Status TestServer::Run() {
  pid_ = Spawn(Command(), folder_);
  if (pid_ < 0) return Unavailable(fmt::format("No process: {}.", std::strerror(errno)));
  return WaitUntilItAnswers();
}

Status TestServer::WaitUntilItAnswers() {
  const int64_t deadline_ns = SteadyNowNs() + kStartPatienceNs;
  Status last;
  while (SteadyNowNs() < deadline_ns) {
    if (::waitpid(pid_, nullptr, WNOHANG) == pid_) {
      pid_ = -1;
      return Internal(fmt::format("{} ended at its start: {}", ProgramOf(kind_).name, Log()));
    }
    if (Answers(port_)) {
      last = Administer("SELECT 1");
      if (last.ok()) return last;
    }
    ::poll(nullptr, 0, kPollMs);
  }
  return DeadlineExceeded(
      fmt::format("{} does not answer: {} {}", ProgramOf(kind_).name, last.message(), Log()));
}

Status TestServer::Administer(const std::string& sql, const std::string& database) {
  try {
    soci::session session;
    if (kind_ == ServerKind::kPostgres) {
      session.open(soci::postgresql,
                   fmt::format("postgresql://{}:{}@127.0.0.1:{}/{}?application_name=tests", kUser,
                               sql::PercentEncoded(kPassword), port_,
                               database.empty() ? "postgres" : database));
    } else {
      session.open(soci::mysql, fmt::format("host=127.0.0.1 port={} user=root db={}", port_,
                                            database.empty() ? "mysql" : database));
    }
    session << sql;
  } catch (const std::exception& error) {
    return Unavailable(error.what());
  }
  return Status::Ok();
}

Result<std::string> TestServer::NewDatabase() {
  const std::string name = fmt::format("attune_{}", ++databases_);
  ATTUNE_RETURN_IF_ERROR(Administer("CREATE DATABASE " + name));
  const bool is_postgres = kind_ == ServerKind::kPostgres;
  if (!is_postgres) {
    ATTUNE_RETURN_IF_ERROR(Administer(fmt::format("GRANT ALL ON {}.* TO '{}'@'%'", name, kUser)));
  }
  return fmt::format("{}://{}@127.0.0.1:{}/{}", is_postgres ? "postgresql" : "mysql", kUser, port_,
                     name);
}

std::string TestServer::Log() const {
  constexpr size_t kShown = 4000;
  const auto text = ReadFile(folder_ / "log");
  if (!text.ok()) return text.error().message();
  return text->size() <= kShown ? *text : text->substr(text->size() - kShown);
}

Result<TestServer*> SharedServer(ServerKind kind) {
  // Started once, whatever came of it, and ended with the process.
  static std::array<std::optional<Result<std::unique_ptr<TestServer>>>, 2> servers;
  auto& server = servers[static_cast<size_t>(kind)];
  if (!server.has_value()) server.emplace(TestServer::Start(kind));
  if (!server->ok()) return server->error();
  return (*server)->get();
}

}  // namespace attune
