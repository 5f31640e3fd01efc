// Several real NATS servers on loopback that are one cluster.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "attune/base/status.h"
#include "tests/servers/nats_server.h"

namespace attune {

// As NatsServer is. Not thread-safe.
class NatsCluster {
 public:
  // `configuration` is put into the configuration file of each. Fails as NatsServer::Start() does.
  static Result<std::unique_ptr<NatsCluster>> Start(size_t servers,
                                                    const std::string& configuration = "");

  NatsServer& server(size_t i) { return *servers_[i]; }
  // The URL of a queue that each of the servers keeps, for `user` if one is named.
  std::string Url(const std::string& user = "") const;

 private:
  std::vector<std::unique_ptr<NatsServer>> servers_;
};

}  // namespace attune
