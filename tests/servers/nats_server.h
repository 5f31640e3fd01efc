// A real NATS server on loopback with data of its own.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "attune/base/status.h"

namespace attune {

// A nats-server with JetStream in a folder of its own, on a free port of 127.0.0.1 or another
// address, run as the user `nobody` where this process is root's. It ends with this object, and
// with the process. Not thread-safe.
class NatsServer {
 public:
  // `configuration` is put into its configuration file: accounts, TLS. kNotFound if the server is
  // not installed here, with the name of its package.
  static Result<std::unique_ptr<NatsServer>> Start(const std::string& configuration = "",
                                                   const std::string& address = "127.0.0.1");
  ~NatsServer();
  NatsServer(const NatsServer&) = delete;
  NatsServer& operator=(const NatsServer&) = delete;

  // As `kill -9` does it.
  void Kill();
  // On the same data and the same port, once it answers.
  Status Run();
  // From here on it accepts connections and says nothing, until Continue().
  void Stop();
  void Continue();

  // "ADDRESS:PORT".
  std::string host() const;

 private:
  NatsServer() = default;

  std::string address_;
  std::filesystem::path folder_;
  uint16_t port_ = 0;
  pid_t pid_ = -1;
};

}  // namespace attune
