#include "tests/servers/test_network.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <sstream>

#include <fmt/format.h>

#include "tests/servers/server_process.h"

namespace attune {
namespace {

Status Refused(std::string_view what) {
  return Unavailable(
      fmt::format("A network of hosts needs root and the right to make namespaces: "
                  "{}: {}.",
                  what, std::strerror(errno)));
}

UniqueFd Current() { return UniqueFd(::open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC)); }

// A new one, which this thread is in then.
Result<UniqueFd> NewSpace() {
  if (::unshare(CLONE_NEWNET) != 0) return Refused("unshare");
  return Current();
}

}  // namespace

Result<std::unique_ptr<TestNetwork>> TestNetwork::Make(size_t hosts) {
  if (FindServerProgram("ip").empty()) {
    return NotFound("There is no 'ip' here (Debian's package iproute2).");
  }
  std::unique_ptr<TestNetwork> network(new TestNetwork);  // NOLINT: private.
  network->here_ = Current();
  ATTUNE_ASSIGN_OR_RETURN(network->bridge_, NewSpace());
  for (size_t host = 0; host < hosts; ++host) {
    ATTUNE_ASSIGN_OR_RETURN(network->hosts_.emplace_back(), NewSpace());
  }
  if (::setns(network->here_.get(), CLONE_NEWNET) != 0) return Refused("setns");
  ATTUNE_RETURN_IF_ERROR(network->Ip(network->bridge_, "link add joint type bridge"));
  ATTUNE_RETURN_IF_ERROR(network->Ip(network->bridge_, "link set joint up"));
  for (size_t host = 0; host < hosts; ++host) {
    ATTUNE_RETURN_IF_ERROR(network->MakeHost(host));
  }
  return network;
}

TestNetwork::~TestNetwork() { (void)::setns(here_.get(), CLONE_NEWNET); }

std::string TestNetwork::AddressOf(size_t host) { return fmt::format("10.77.0.{}", host + 1); }

Status TestNetwork::MakeHost(size_t host) {
  const std::string space = fmt::format("/proc/{}/fd/{}", ::getpid(), hosts_[host].get());
  ATTUNE_RETURN_IF_ERROR(
      Ip(bridge_, fmt::format("link add to{} type veth peer name eth0 netns {}", host, space)));
  ATTUNE_RETURN_IF_ERROR(Ip(bridge_, fmt::format("link set to{} up", host)));
  ATTUNE_RETURN_IF_ERROR(Join(host));
  ATTUNE_RETURN_IF_ERROR(Ip(hosts_[host], fmt::format("addr add {}/24 dev eth0", AddressOf(host))));
  ATTUNE_RETURN_IF_ERROR(Ip(hosts_[host], "link set eth0 up"));
  return Ip(hosts_[host], "link set lo up");
}

Status TestNetwork::Within(const UniqueFd& space, const std::function<Status()>& body) {
  const UniqueFd before = Current();
  if (::setns(space.get(), CLONE_NEWNET) != 0) return Refused("setns");
  Status status = body();
  if (::setns(before.get(), CLONE_NEWNET) != 0) return Refused("setns");
  return status;
}

Status TestNetwork::On(size_t host, const std::function<Status()>& body) {
  return Within(hosts_[host], body);
}

Status TestNetwork::Enter(size_t host) {
  return ::setns(hosts_[host].get(), CLONE_NEWNET) == 0 ? Status::Ok() : Refused("setns");
}

Status TestNetwork::Ip(const UniqueFd& space, const std::string& words) {
  std::vector<std::string> command = {FindServerProgram("ip")};
  std::istringstream stream(words);
  for (std::string word; stream >> word;) command.push_back(word);
  return Within(space, [&]() -> Status {
    std::vector<char*> arguments;
    for (std::string& word : command) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const pid_t process = ::fork();
    if (process == 0) {
      ::execv(arguments.front(), arguments.data());
      ::_exit(127);
    }
    int status = -1;
    if (process > 0 && ::waitpid(process, &status, 0) == process && status == 0) {
      return Status::Ok();
    }
    return Unavailable(fmt::format("'ip {}' failed.", words));
  });
}

Status TestNetwork::Cut(size_t host) {
  return Ip(bridge_, fmt::format("link set to{} nomaster", host));
}

Status TestNetwork::Join(size_t host) {
  return Ip(bridge_, fmt::format("link set to{} master joint", host));
}

Status TestNetwork::Part(size_t one, size_t other) {
  ATTUNE_RETURN_IF_ERROR(
      Ip(hosts_[one], fmt::format("route add blackhole {}/32", AddressOf(other))));
  return Ip(hosts_[other], fmt::format("route add blackhole {}/32", AddressOf(one)));
}

Status TestNetwork::Meet(size_t one, size_t other) {
  ATTUNE_RETURN_IF_ERROR(
      Ip(hosts_[one], fmt::format("route del blackhole {}/32", AddressOf(other))));
  return Ip(hosts_[other], fmt::format("route del blackhole {}/32", AddressOf(one)));
}

}  // namespace attune
