// Starts a server for the commands of the documentation. Prints the data for its clients as one
// line of JSON, and ends with its standard input.
//
//   attune_docs_serve postgres|maria|nats|nats_cluster
//
// PostgreSQL and the cluster of NATS ask for TLS. Exit status 77: the server is not installed.
#include <cstdio>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "attune/base/status.h"
#include "tests/servers/nats_cluster.h"
#include "tests/servers/nats_server.h"
#include "tests/servers/test_certificates.h"
#include "tests/servers/test_server.h"

namespace attune {
namespace {

constexpr int kNotInstalled = 77;
constexpr size_t kClusterServers = 3;
constexpr const char* kQueuePassword = "queue_password";

void ServeUntilInputEnds(const nlohmann::json& terms) {
  std::puts(terms.dump().c_str());
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
}

Status ServeDatabase(ServerKind kind) {
  ATTUNE_ASSIGN_OR_RETURN(const TestCertificates made, TestCertificates::Make("IP:127.0.0.1"));
  const bool has_tls = kind == ServerKind::kPostgres;
  ATTUNE_ASSIGN_OR_RETURN(const auto server,
                          TestServer::Start(kind, {.certificates = has_tls ? &made : nullptr}));
  ATTUNE_ASSIGN_OR_RETURN(const std::string url, server->NewDatabase("attune"));
  ServeUntilInputEnds(
      {{"url", url}, {"password", TestServer::kPassword}, {"authority", made.authority()}});
  return Status::Ok();
}

Status ServeQueue() {
  ATTUNE_ASSIGN_OR_RETURN(const auto server, NatsServer::Start());
  ServeUntilInputEnds({{"hosts", server->host()}});
  return Status::Ok();
}

Status ServeQueueCluster() {
  ATTUNE_ASSIGN_OR_RETURN(const TestCertificates made, TestCertificates::Make("IP:127.0.0.1"));
  ATTUNE_ASSIGN_OR_RETURN(
      const auto cluster,
      NatsCluster::Start(
          kClusterServers,
          fmt::format("tls {{ cert_file: \"{}\", key_file: \"{}\" }}\n"
                      "authorization {{ users: [{{ user: attune, password: {} }}] }}",
                      made.certificate(), made.key(), kQueuePassword)));
  std::string hosts;
  for (size_t i = 0; i < kClusterServers; ++i) {
    hosts += (i == 0 ? "" : ",") + cluster->server(i).host();
  }
  ServeUntilInputEnds(
      {{"hosts", hosts}, {"password", kQueuePassword}, {"authority", made.authority()}});
  return Status::Ok();
}

Status Serve(const std::string& name) {
  if (name == "postgres") return ServeDatabase(ServerKind::kPostgres);
  if (name == "maria") return ServeDatabase(ServerKind::kMaria);
  if (name == "nats") return ServeQueue();
  if (name == "nats_cluster") return ServeQueueCluster();
  return InvalidArgument(fmt::format("cannot serve '{}': unknown server", name));
}

}  // namespace
}  // namespace attune

int main(int argc, char** argv) {
  const attune::Status status = attune::Serve(argc == 2 ? argv[1] : "");
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.message().c_str());
  return status.code() == attune::StatusCode::kNotFound ? attune::kNotInstalled : 1;
}
