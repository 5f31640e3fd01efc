#include "tests/servers/nats_server.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include <fmt/format.h>

#include "attune/base/file.h"
#include "attune/base/steady_time.h"
#include "tests/servers/server_process.h"

namespace attune {
namespace {

constexpr int64_t kStartPatienceNs = 30'000'000'000;
constexpr int kPollMs = 20;

}  // namespace

Result<std::unique_ptr<NatsServer>> NatsServer::Start(const std::string& configuration,
                                                      const std::string& address) {
  if (FindServerProgram("nats-server").empty()) {
    return NotFound("NATS is not installed here (Debian's package nats-server).");
  }
  std::unique_ptr<NatsServer> server(new NatsServer);  // NOLINT: private.
  ATTUNE_ASSIGN_OR_RETURN(server->folder_, NewServerFolder());
  server->address_ = address;
  ATTUNE_ASSIGN_OR_RETURN(server->port_, FreePort(address));
  const std::string text =
      fmt::format("listen: \"{}:{}\"\njetstream {{ store_dir: \"{}\" }}\n{}\n", address,
                  server->port_, (server->folder_ / "data").string(), configuration);
  ATTUNE_RETURN_IF_ERROR(WriteFileAtomically(server->folder_ / "nats.conf", text));
  ATTUNE_RETURN_IF_ERROR(GiveToServer(server->folder_ / "nats.conf"));
  ATTUNE_RETURN_IF_ERROR(server->Run());
  return server;
}

NatsServer::~NatsServer() {
  Kill();
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

void NatsServer::Kill() { KillServer(pid_); }

void NatsServer::Stop() {
  ::kill(pid_, SIGSTOP);
  // It still runs for a moment.
  ::waitpid(pid_, nullptr, WUNTRACED);
}

void NatsServer::Continue() { ::kill(pid_, SIGCONT); }

std::string NatsServer::host() const { return fmt::format("{}:{}", address_, port_); }

Status NatsServer::Run() {
  pid_ = SpawnServer({FindServerProgram("nats-server"), "-c", folder_ / "nats.conf"}, folder_);
  const int64_t deadline_ns = SteadyNowNs() + kStartPatienceNs;
  while (pid_ > 0 && SteadyNowNs() < deadline_ns) {
    if (Answers(port_, address_)) return Status::Ok();
    if (::waitpid(pid_, nullptr, WNOHANG) == pid_) {
      pid_ = -1;
      return Internal(fmt::format("nats-server ended at its start: {}", EndOfLog(folder_)));
    }
    ::poll(nullptr, 0, kPollMs);
  }
  return DeadlineExceeded(fmt::format("nats-server does not answer: {}", EndOfLog(folder_)));
}

}  // namespace attune
