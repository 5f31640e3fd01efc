#include "tests/servers/nats_cluster.h"

#include <cstdint>

#include <fmt/format.h>

#include "tests/servers/server_process.h"

namespace attune {

Result<std::unique_ptr<NatsCluster>> NatsCluster::Start(size_t servers,
                                                        const std::string& configuration) {
  std::vector<uint16_t> ports;
  std::string routes;
  for (size_t i = 0; i < servers; ++i) {
    ATTUNE_ASSIGN_OR_RETURN(const uint16_t port, FreePort());
    ports.push_back(port);
    routes += fmt::format("{}\"nats-route://127.0.0.1:{}\"", routes.empty() ? "" : ", ", port);
  }
  auto cluster = std::make_unique<NatsCluster>();
  for (size_t i = 0; i < servers; ++i) {
    const std::string place = fmt::format(
        "server_name: s{}\ncluster {{ name: c, listen: \"127.0.0.1:{}\", routes: [{}] }}", i,
        ports[i], routes);
    ATTUNE_ASSIGN_OR_RETURN(auto server, NatsServer::Start(configuration + "\n" + place));
    cluster->servers_.push_back(std::move(server));
  }
  return cluster;
}

std::string NatsCluster::Url(const std::string& user) const {
  std::string hosts;
  for (const auto& server : servers_) hosts += (hosts.empty() ? "" : ",") + server->host();
  return fmt::format("nats://{}{}{}?replicas={}", user, user.empty() ? "" : "@", hosts,
                     servers_.size());
}

}  // namespace attune
