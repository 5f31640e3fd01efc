// Hosts of a network of their own, on this machine.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "attune/base/status.h"
#include "attune/base/unique_fd.h"

namespace attune {

// Network namespaces that are joined by a bridge in another one. They are gone once this object and
// the processes started in them are. For one thread, which is on the machine itself except within
// On() and after Enter().
class TestNetwork {
 public:
  // kUnavailable where namespaces cannot be made, with the reason.
  static Result<std::unique_ptr<TestNetwork>> Make(size_t hosts);
  ~TestNetwork();
  TestNetwork(const TestNetwork&) = delete;
  TestNetwork& operator=(const TestNetwork&) = delete;

  static std::string AddressOf(size_t host);
  // Processes and connections that `body` starts are on that host.
  Status On(size_t host, const std::function<Status()>& body);
  // This thread is on that host from here on.
  Status Enter(size_t host);

  // Disconnects the host from all others until it is joined again.
  Status Cut(size_t host);
  Status Join(size_t host);
  // Disconnects two hosts from each other only.
  Status Part(size_t one, size_t other);
  Status Meet(size_t one, size_t other);

 private:
  TestNetwork() = default;
  Status MakeHost(size_t host);
  // Runs `ip WORDS` in that namespace.
  Status Ip(const UniqueFd& space, const std::string& words);
  Status Within(const UniqueFd& space, const std::function<Status()>& body);

  UniqueFd here_;
  UniqueFd bridge_;
  std::vector<UniqueFd> hosts_;
};

}  // namespace attune
